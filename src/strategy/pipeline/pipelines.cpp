// GPipe, 1F1B, PipeDream, PipeDream-2BW and zero bubble, each as its recipe and limits.
#include "strategy/pipeline/pipelines.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "plan/versions.hpp"
#include "strategy/pipeline/checked_request.hpp"
#include "strategy/pipeline/chunks.hpp"
#include "strategy/pipeline/straight.hpp"

namespace plait::strategy {

namespace {

using pipeline::one_forward_one_backward;
using pipeline::Recipe;
using pipeline::StageLimit;
using pipeline::Urgency;

plan::Plan straight(const PlanRequest& request, const Recipe& recipe, const StageLimit& in_flight,
                    const StageLimit& open = {}) {
  const pipeline::CheckedRequest checked(request);
  return make_straight(checked.request(), recipe, in_flight, open).plan;
}

}  // namespace

plan::Plan make_gpipe_plan(const PlanRequest& request) {
  return straight(request, {.name = "gpipe", .urgency = Urgency::all_forwards, .fused = true},
                  [&](int, int) { return request.microbatches; });
}

plan::Plan make_1f1b_plan(const PlanRequest& request) {
  return straight(request, {.name = "1f1b", .fused = true}, one_forward_one_backward);
}

plan::Plan make_pipedream_plan(const PlanRequest& request) {
  return straight(request, {.name = "pipedream", .asynchronous = true, .fused = true},
                  one_forward_one_backward);
}

plan::Plan make_pipedream_replicated_plan(const PlanRequest& request) {
  return straight(
      request,
      {.name = "pipedream-replicated", .asynchronous = true, .replicate = true, .fused = true},
      one_forward_one_backward);
}

plan::Plan make_pipedream_2bw_plan(const PlanRequest& request) {
  plan::Plan plan =
      straight(request, {.name = "pipedream-2bw", .asynchronous = true, .fused = true},
               one_forward_one_backward);
  if (const int delay = std::ranges::max(plan::staleness(plan)); delay > 1) {
    const std::int64_t enough = request.machine.workers();
    user_error(
        "`strategy` pipedream-2bw keeps two versions of the weights, but with `microbatches` {} on "
        "{} workers weights are {} updates old: use {}",
        request.microbatches, request.machine.workers(), delay,
        enough <= request.batch ? fmt::format("`microbatches` {}", enough)
                                : fmt::format("at most {} workers", request.batch));
  }
  for (plan::Program& program : plan.programs) {
    for (plan::Task& task : program.tasks) {
      if (!plan::delay_of(task)) continue;
      const auto block = static_cast<std::size_t>(plan::block_of(task));
      if (plan.network.blocks[block].parameters > 0) plan::set_delay(task, 1);
    }
  }
  return plan;
}

plan::Plan make_interleaved_plan(const PlanRequest& request) {
  const pipeline::CheckedRequest checked(request);
  return pipeline::make_interleaved(
             checked.request(),
             {.name = "1f1b-interleaved", .urgency = Urgency::backward_first, .fused = true})
      .plan;
}

plan::Plan make_zb_v_plan(const PlanRequest& request) {
  const pipeline::CheckedRequest checked(request);
  return pipeline::make_v_shaped(checked.request(),
                                 {.name = "zb-v", .urgency = Urgency::backward_first})
      .plan;
}

plan::Plan make_zb_h1_plan(const PlanRequest& request) {
  const int all = request.machine.workers();
  return straight(
      request, {.name = "zb-h1", .urgency = Urgency::backward_first}, [=](int, int) { return all; },
      one_forward_one_backward);
}

plan::Plan make_zb_h2_plan(const PlanRequest& request) {
  const int all = request.machine.workers();
  return straight(
      request, {.name = "zb-h2", .urgency = Urgency::backward_first},
      [=](int, int) { return 2 * all; }, [](int workers, int) { return 2 * workers - 1; });
}

}  // namespace plait::strategy
