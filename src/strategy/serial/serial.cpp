// All microbatches on the one worker, one after the other.
#include "strategy/serial/serial.hpp"

#include "base/error.hpp"
#include "lower/lower.hpp"
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
  lower::Schedule schedule = empty_schedule("serial", request);
  for (int part = 0; part < parts; ++part) {
    list_microbatch(
        {.samples = plan::part_of(part, parts), .first = part == 0},
        [](plan::TaskKind, int) { return 0; }, schedule);
  }
  return lower::lower(std::move(schedule));
}

}  // namespace plait::strategy
