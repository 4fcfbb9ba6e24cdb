// Sparse rows: every worker owns some rows of every layer and what they compute. Messages carry the
// rows that others need, forward, and their partial gradients back.
#pragma once

#include "strategy/strategy.hpp"

namespace plait::strategy {

/// The rows of the last layer are worker 0's, which computes the loss. UserError for a network with
/// other layers than linear ones, for owners that are not of this network, for more workers than a
/// layer has rows, for several microbatches and for clipping.
plan::Plan make_sparse_rows_plan(const PlanRequest& request);

/// The patterns of the layers whose rows can be given away: all but the last. As make_partition
/// wants them.
std::vector<std::shared_ptr<const tensor::SparsePattern>> row_patterns(
    const plan::Network& network);

}  // namespace plait::strategy
