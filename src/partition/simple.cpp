// Contiguous blocks of equal weight, and rows dealt in random order.
#include "partition/simple.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <queue>

#include "base/rng.hpp"
#include "partition/owners.hpp"

namespace plait::partition {
namespace {

using Owners = std::vector<std::int32_t>;
using Weights = std::vector<std::int64_t>;

Owners blocks(const Weights& weights, int parts) {
  const auto rows = static_cast<std::int64_t>(weights.size());
  const auto all =
      static_cast<double>(std::accumulate(weights.begin(), weights.end(), std::int64_t{0}));
  Owners owners;
  std::int32_t part = 0;
  double sum = 0;
  std::int64_t in_part = 0;
  for (std::int64_t row = 0; row < rows; ++row) {
    const auto weight = static_cast<double>(weights[static_cast<std::size_t>(row)]);
    const bool full = sum + weight / 2 > all * (part + 1) / parts;
    const bool last_chance = rows - row < parts - part;  // a row for each of the parts to come
    if (in_part > 0 && part + 1 < parts && (full || last_chance)) {
      ++part;
      in_part = 0;
    }
    owners.push_back(part);
    sum += weight;
    ++in_part;
  }
  return owners;
}

Owners dealt(const Weights& weights, int parts, Rng rng) {
  std::vector<std::size_t> order(weights.size());
  std::iota(order.begin(), order.end(), 0);
  for (std::size_t i = order.size(); i > 1; --i) {
    std::swap(order[i - 1], order[rng.below(static_cast<std::uint32_t>(i))]);
  }
  using Load = std::tuple<std::int64_t, std::int64_t, std::int32_t>;  // weight, rows, part
  std::priority_queue<Load, std::vector<Load>, std::greater<>> loads;
  for (std::int32_t p = 0; p < parts; ++p) loads.emplace(0, 0, p);
  Owners owners(weights.size());
  for (const std::size_t row : order) {
    const auto [weight, rows, part] = loads.top();
    loads.pop();
    owners[row] = part;
    loads.emplace(weight + weights[row], rows + 1, part);
  }
  return owners;
}

Weights weights_of(const tensor::SparsePattern& pattern) {
  Weights weights;
  for (std::int64_t row = 0; row < pattern.rows; ++row) {
    weights.push_back(static_cast<std::int64_t>(pattern.row(row).size()));
  }
  return weights;
}

/// `own(weights, layer)` for every layer, and for the input as layer 0 before them.
template <class Own>
Partition by_layer(SparseLayers layers, const PartitionOptions& options, const Own& own) {
  Partition partition;
  partition.parts = options.parts;
  if (options.own_input) {
    partition.input_owners = own(Weights(static_cast<std::size_t>(layers[0]->columns), 1), 0);
  }
  StepCounter progress(options.progress, static_cast<int>(layers.size()));
  for (const auto& layer : layers) {
    partition.owners.push_back(own(weights_of(*layer), partition.owners.size() + 1));
    progress.step();
  }
  return partition;
}

}  // namespace

Partition block_partition(SparseLayers layers, const PartitionOptions& options) {
  return by_layer(layers, options, [&](const Weights& weights, std::size_t) {
    return blocks(weights, options.parts);
  });
}

Partition random_partition(SparseLayers layers, const PartitionOptions& options) {
  return by_layer(layers, options, [&](const Weights& weights, std::size_t layer) {
    return dealt(weights, options.parts,
                 Rng(options.seed, Purpose::shuffle, kPartitionStream, layer));
  });
}

}  // namespace plait::partition
