// The microbatches of a worker; the others do the same.
#include "strategy/data_parallel/data_parallel.hpp"

#include "base/error.hpp"
#include "lower/lower.hpp"
#include "strategy/steps.hpp"

namespace plait::strategy {

namespace {

void check_samples(const PlanRequest& request) {
  const std::int64_t workers = request.machine.workers();
  const std::int64_t parts = workers * request.microbatches;
  if (parts <= request.batch) return;
  const std::int64_t most = request.batch / request.microbatches;
  setting_error("workers", workers,
                "are more than the plan can use: `batch` {} has only {} samples for {} "
                "workers x {} microbatches; use {}a `batch` of at least {}",
                request.batch, request.batch, workers, request.microbatches,
                most > 0 ? fmt::format("at most {} workers or ", most) : "", parts);
}

}  // namespace

plan::Plan make_data_parallel_plan(const PlanRequest& request) {
  check_samples(request);
  lower::Schedule schedule = empty_schedule("data_parallel", request);
  schedule.replicas = request.machine.workers();
  const int parts = request.microbatches;
  for (int part = 0; part < parts; ++part) {
    list_microbatch(
        {.samples = plan::part_of(part, parts), .first = part == 0},
        [](plan::TaskKind, int) { return 0; }, schedule);
  }
  return lower::lower(std::move(schedule));
}

}  // namespace plait::strategy
