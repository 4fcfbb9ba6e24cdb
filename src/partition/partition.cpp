// Dispatch by method, checks before and after, and the hash that ties a partition to its network.
#include "partition/partition.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "base/error.hpp"
#include "base/hash.hpp"
#include "base/nearest.hpp"
#include "partition/layerwise.hpp"
#include "partition/merged.hpp"
#include "partition/simple.hpp"

namespace plait::partition {
namespace {

constexpr std::array<std::pair<PartitionMethod, std::string_view>, 4> kMethods{
    {{PartitionMethod::merged, "merged"},
     {PartitionMethod::zoltan, "zoltan"},
     {PartitionMethod::block, "block"},
     {PartitionMethod::random, "random"}}};

void check_layers(SparseLayers layers) {
  if (layers.empty()) user_error("a partition needs at least one sparse layer");
  for (std::size_t k = 1; k < layers.size(); ++k) {
    if (layers[k]->columns != layers[k - 1]->rows) {
      user_error("sparse layer {} reads {} inputs, but layer {} before it has {} outputs", k + 1,
                 layers[k]->columns, k, layers[k - 1]->rows);
    }
  }
}

void check_parts(SparseLayers layers, const PartitionOptions& options) {
  if (options.parts < 1) user_error("{} parts: at least 1 is needed", options.parts);
  std::int64_t most = options.own_input ? layers[0]->columns : layers[0]->rows;
  for (const auto& layer : layers) most = std::min(most, layer->rows);
  if (options.parts > most) {
    user_error("{} parts are more than the smallest layer has rows; use at most {}", options.parts,
               most);
  }
  if (!(options.tolerance >= 0)) {
    user_error("imbalance tolerance {}: it must be 0 or more", options.tolerance);
  }
}

void check_owners(std::span<const std::int32_t> owners, std::int64_t rows, int parts,
                  const std::string& source) {
  const bool known =
      std::ranges::all_of(owners, [&](std::int32_t p) { return p >= 0 && p < parts; });
  if (static_cast<std::int64_t>(owners.size()) != rows || !known) {
    user_error(
        "{}: {} owners for {} rows, each of which must be one of {} parts; run plait partition "
        "again",
        source, owners.size(), rows, parts);
  }
}

}  // namespace

std::string_view method_name(PartitionMethod method) {
  return std::ranges::find(kMethods, method, &decltype(kMethods)::value_type::first)->second;
}

PartitionMethod method_named(const std::string& name) {
  std::vector<std::string> names;
  for (const auto& [method, its] : kMethods) {
    if (its == name) return method;
    names.emplace_back(its);
  }
  user_error("unknown partition method '{}'{}; known methods: {}", name, did_you_mean(name, names),
             fmt::join(names, ", "));
}

namespace {

/// A part without rows gets the lightest row of one that has several: rows without elements weigh
/// nothing, so balance alone may leave a part out.
void leave_nobody_out(const tensor::SparsePattern& layer, int parts,
                      std::vector<std::int32_t>& owners) {
  std::vector<std::int64_t> rows(static_cast<std::size_t>(parts), 0);
  for (const std::int32_t owner : owners) ++rows[static_cast<std::size_t>(owner)];
  for (int part = 0; part < parts; ++part) {
    if (rows[static_cast<std::size_t>(part)] > 0) continue;
    std::int64_t lightest = -1;
    for (std::int64_t row = 0; row < layer.rows; ++row) {
      const auto owner = static_cast<std::size_t>(owners[static_cast<std::size_t>(row)]);
      if (rows[owner] < 2) continue;
      if (lightest < 0 || layer.row(row).size() < layer.row(lightest).size()) lightest = row;
    }
    std::int32_t& owner = owners[static_cast<std::size_t>(lightest)];
    --rows[static_cast<std::size_t>(owner)];
    owner = part;
    ++rows[static_cast<std::size_t>(part)];
  }
}

Partition by_method(SparseLayers layers, const PartitionOptions& options) {
  switch (options.method) {
    case PartitionMethod::merged: return merged_partition(layers, options);
    case PartitionMethod::zoltan: return zoltan_partition(layers, options);
    case PartitionMethod::block: return block_partition(layers, options);
    case PartitionMethod::random: break;
  }
  return random_partition(layers, options);
}

}  // namespace

Partition make_partition(SparseLayers layers, const PartitionOptions& options) {
  check_layers(layers);
  check_parts(layers, options);
  Partition partition = by_method(layers, options);
  for (std::size_t k = 0; k < layers.size(); ++k) {
    leave_nobody_out(*layers[k], options.parts, partition.owners[k]);
  }
  return partition;
}

std::string layers_hash(SparseLayers layers) {
  Hash hash;
  for (const auto& layer : layers) hash.add(tensor::pattern_hash(*layer));
  return hash.hex();
}

void check_record(const PartitionRecord& record, SparseLayers layers, const std::string& source) {
  const Partition& partition = record.partition;
  if (partition.owners.size() != layers.size()) {
    user_error("{}: a partition of {} layers, but the network has {} sparse layers", source,
               partition.owners.size(), layers.size());
  }
  if (record.network != layers_hash(layers)) {
    user_error("{}: the partition belongs to another network ({}, this one is {})", source,
               record.network, layers_hash(layers));
  }
  for (std::size_t k = 0; k < layers.size(); ++k) {
    check_owners(partition.owners[k], layers[k]->rows, partition.parts, source);
  }
  if (partition.input_owners.empty()) return;
  check_owners(partition.input_owners, layers[0]->columns, partition.parts, source);
}

}  // namespace plait::partition
