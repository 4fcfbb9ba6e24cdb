// The pipelines: LayerPipe and those it is measured against. All are pieces of one line of tasks
// (task_line.hpp), played once by one rule (self_timed.hpp) and frozen (freeze.hpp).
#pragma once

#include "strategy/strategy.hpp"

namespace plait::strategy {

/// Cuts anywhere in the line F1 D1 G1 F2 ..., backward_data by microbatches; one worker for each
/// piece. Of some cuts and limits of microbatches in flight the fastest that fits into the
/// machine's memory is taken. Synchronous or not as the request says.
/// UserError where there are more workers than pieces, where there are more microbatches than
/// samples, or where nothing fits into memory; each names the nearest value that works.
plan::Plan make_layerpipe_plan(const PlanRequest& request);
/// The same, but pieces from border to border may have several workers, which take the microbatches
/// in turn; down to replicas of the whole network. Straight pipelines are among its candidates. An
/// asynchronous one gives up to 2 % of the speed for newer weights.
plan::Plan make_layerpipe_replicated_plan(const PlanRequest& request);

/// All forwards, then all backwards; one update.
plan::Plan make_gpipe_plan(const PlanRequest& request);
/// One forward, one backward in turn, workers - w microbatches in flight on worker w; one update.
plan::Plan make_1f1b_plan(const PlanRequest& request);
/// One forward, one backward, workers - w microbatches in flight on worker w, old weights stashed.
plan::Plan make_pipedream_plan(const PlanRequest& request);
/// The same with several workers where a stage is long.
plan::Plan make_pipedream_replicated_plan(const PlanRequest& request);
/// The same as pipedream with two versions of the weights: every minibatch reads those of the one
/// before the last.
plan::Plan make_pipedream_2bw_plan(const PlanRequest& request);
/// 1f1b with 2 to 4 pieces of the network on every worker, dealt out in rounds (Megatron-LM).
plan::Plan make_interleaved_plan(const PlanRequest& request);
/// Backward in two tasks, one update; in flight as in pipedream, or twice as many.
plan::Plan make_zb_h1_plan(const PlanRequest& request);
plan::Plan make_zb_h2_plan(const PlanRequest& request);
/// The same with two pieces on every worker, there and back, and the memory of 1f1b.
plan::Plan make_zb_v_plan(const PlanRequest& request);

}  // namespace plait::strategy
