// A partition by method, from a file, or a refusal where partitioning would take long and was not
// asked for.
#include "session/row_partitioner.hpp"

#include <algorithm>
#include <array>

#include "base/error.hpp"
#include "base/text.hpp"
#include "partition/partition_file.hpp"

namespace plait::session {

namespace {

/// Elements of sparse layers that are partitioned, on all machines together, before somebody has to
/// ask for it: about ten seconds.
constexpr std::int64_t kMostPartitioned = 16'000'000;

/// The first layer with its rows only.
std::vector<std::shared_ptr<const tensor::SparsePattern>> without_input(
    std::vector<std::shared_ptr<const tensor::SparsePattern>> layers) {
  if (layers.empty()) return layers;
  const std::int64_t rows = layers.front()->rows;
  layers.front() = std::make_shared<const tensor::SparsePattern>(tensor::SparsePattern{
      .rows = rows,
      .columns = 0,
      .row_begin = std::vector<std::int64_t>(static_cast<std::size_t>(rows) + 1, 0),
      .column = {}});
  return layers;
}

bool is_method(const std::string& how) {
  return std::ranges::any_of(
      std::array{partition::PartitionMethod::merged, partition::PartitionMethod::zoltan,
                 partition::PartitionMethod::block, partition::PartitionMethod::random},
      [&](partition::PartitionMethod method) { return partition::method_name(method) == how; });
}

}  // namespace

std::string partitioned_hash(
    const std::vector<std::shared_ptr<const tensor::SparsePattern>>& layers) {
  return partition::layers_hash(without_input(layers));
}

strategy::RowPartitioner row_partitioner(const std::string& how, std::uint64_t seed) {
  return [how, seed](const std::vector<std::shared_ptr<const tensor::SparsePattern>>& layers,
                     int workers) -> strategy::RowOwners {
    const bool is_file = how.find('/') != std::string::npos || how.ends_with(".safetensors");
    if (is_method(how) || !is_file) {
      return partition::make_partition(
                 layers, {.parts = workers, .method = partition::method_named(how), .seed = seed})
          .owners;
    }
    partition::PartitionRecord record = partition::read_partition(how);
    partition::check_record(record, without_input(layers), how);
    if (record.partition.parts != workers) {
      user_error("{}: has {} parts but there are {} workers; use `workers` {}", how,
                 record.partition.parts, workers, record.partition.parts);
    }
    return std::move(record.partition.owners);
  };
}

strategy::RowPartitioner in_seconds(strategy::RowPartitioner partition, std::size_t machines) {
  return [partition = std::move(partition), machines](
             const std::vector<std::shared_ptr<const tensor::SparsePattern>>& layers, int workers) {
    std::int64_t elements = 0;
    for (const auto& layer : layers) elements += layer->size();
    if (workers > 1 && elements > kMostPartitioned / static_cast<std::int64_t>(machines)) {
      user_error(
          "to partition {} elements takes long; ask for it with `strategies` sparse_rows, "
          "best with `partition` FILE of plait partition",
          with_commas(elements));
    }
    return partition(layers, workers);
  };
}

}  // namespace plait::session
