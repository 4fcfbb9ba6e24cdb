// The methods that look at weights only.
#pragma once

#include "partition/partition.hpp"

namespace plait::partition {

/// Contiguous rows; part p ends where (p + 1) / parts of the weight is reached, and has a row at
/// least.
Partition block_partition(SparseLayers layers, const PartitionOptions& options);
/// A random permutation of the rows, each given to the lightest part.
Partition random_partition(SparseLayers layers, const PartitionOptions& options);

}  // namespace plait::partition
