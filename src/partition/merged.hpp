// The default method.
#pragma once

#include "partition/partition.hpp"

namespace plait::partition {

/// Equal rows merged, every stage grown on its own, parts renamed to fit together, then annealed:
/// sweeps over the stages in both directions, first with parts of uneven weight, then balanced.
/// Never more words than block or random where those are balanced. Needs neither Zoltan nor MPI.
Partition merged_partition(SparseLayers layers, const PartitionOptions& options);

}  // namespace plait::partition
