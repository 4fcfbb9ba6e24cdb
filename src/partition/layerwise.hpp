// Zoltan, layer after layer.
#pragma once

#include <cstdint>

#include "partition/chain.hpp"
#include "partition/zoltan.hpp"

namespace plait::partition {

/// Of one stage, with the parts that own its columns (in the stage before) as fixed pins: what
/// Zoltan makes small are the words of forward and backward.
Hypergraph stage_hypergraph(const LayerChain& chain, std::size_t stage);

/// Rows as they are, no merging; what comes out too heavy is balanced.
Partition zoltan_partition(SparseLayers layers, const PartitionOptions& options);

}  // namespace plait::partition
