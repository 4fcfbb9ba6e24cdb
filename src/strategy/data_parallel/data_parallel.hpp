// data_parallel: every worker has the whole network and a share of each minibatch. Gradients are
// summed in buckets of consecutive blocks, from the last to the first, while backward of earlier
// blocks still runs; running statistics travel as one more bucket, right after the loss.
#pragma once

#include "strategy/strategy.hpp"

namespace plait::strategy {

/// After reduce_start of a bucket come reduce_sum of the one before and reduce_finish of the one
/// before that, then, without clipping, the updates of the finished bucket's blocks.
/// UserError with more workers x microbatches than samples.
plan::Plan make_data_parallel_plan(const PlanRequest& request);

}  // namespace plait::strategy
