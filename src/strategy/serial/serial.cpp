// Load, forward, loss, backward, update.
#include "strategy/serial/serial.hpp"

#include "base/error.hpp"
#include "strategy/steps.hpp"
#include "strategy/strategy.hpp"

namespace plait::strategy {

plan::Plan make_serial_plan(const PlanRequest& request) {
  const int parts = request.microbatches;
  if (request.machine.workers() != 1) {
    user_error(
        "`strategy` serial is for one worker, not for {} ({} nodes x {}): use `workers` 1, "
        "or data_parallel",
        request.machine.workers(), request.machine.nodes, request.machine.workers_per_node);
  }
  check_microbatches(parts, request.batch);
  plan::Plan plan = empty_plan("serial", request);
  std::vector<plan::Task>& tasks = plan.programs.front().tasks;
  for (int part = 0; part < parts; ++part) {
    const Microbatch microbatch{.samples = plan::part_of(part, parts), .first = part == 0};
    append_forward(plan.network, microbatch, tasks);
    for (int block = plan.network.size(); block-- > 0;) {
      append_backward(plan.network, block, microbatch, tasks);
    }
  }
  append_updates(plan.network, request.clip, tasks);
  return plan;
}

}  // namespace plait::strategy
