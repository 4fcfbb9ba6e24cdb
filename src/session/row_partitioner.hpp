// Where a plan gets its partition of a sparse network from.
#pragma once

#include <string>

#include "partition/partition.hpp"
#include "strategy/strategy.hpp"

namespace plait::session {

/// Hash of the layers, whatever feeds the first of them: every worker has the whole input, so a
/// partition serves any data.
std::string partitioned_hash(
    const std::vector<std::shared_ptr<const tensor::SparsePattern>>& layers);

/// `how` is a method, or the file of a partition of the very network for the very workers.
strategy::RowPartitioner row_partitioner(const std::string& how, std::uint64_t seed);

/// The same, but UserError where partitioning would keep other strategies waiting: for `plait
/// plan`, which asks for it on so many machines.
strategy::RowPartitioner in_seconds(strategy::RowPartitioner partition, std::size_t machines);

}  // namespace plait::session
