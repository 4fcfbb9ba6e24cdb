// Lowers the offsets of a frozen plan one by one as long as the simulated step takes no longer.
#include "strategy/pipeline/tighten.hpp"

#include <algorithm>
#include <utility>

#include "plan/check.hpp"
#include "plan/versions.hpp"
#include "simulate/simulate.hpp"

namespace plait::strategy::pipeline {

namespace {

constexpr double kAsLong = 1.001;

double step_seconds(const plan::Plan& plan, const cost::CostModel& cost) {
  return simulate::simulate(
             plan, cost, {.minibatches = simulate::steady_minibatches(plan), .keep_events = false})
      .step_seconds;
}

int largest_offset(const plan::Program& program) {
  int most = 0;
  for (const plan::Task& task : program.tasks) most = std::max(most, task.when.offset);
  return most;
}

/// Everything that comes `from` steps late or later on this worker comes one step earlier.
plan::Plan earlier(plan::Plan plan, int worker, int from) {
  for (plan::Task& task : plan.programs[static_cast<std::size_t>(worker)].tasks) {
    if (task.when.offset >= from) --task.when.offset;
  }
  plan::set_least_delays(plan);
  return plan;
}

}  // namespace

double tighten(plan::Plan& plan, const cost::CostModel& cost) {
  plan::set_least_delays(plan);
  double seconds = step_seconds(plan, cost);
  const double limit = kAsLong * seconds;
  const std::int64_t cap = std::exchange(plan.machine.memory_per_worker, 0);  // not asked here
  bool changed = true;
  while (changed) {
    changed = false;
    for (int worker = plan.workers(); worker-- > 0;) {
      const int most = largest_offset(plan.programs[static_cast<std::size_t>(worker)]);
      for (int from = 1; from <= most; ++from) {
        plan::Plan candidate = earlier(plan, worker, from);
        if (!plan::faults(candidate).empty()) continue;
        const double now = step_seconds(candidate, cost);
        if (now > limit) continue;
        seconds = now;
        plan = std::move(candidate);
        changed = true;
        break;
      }
    }
  }
  plan.machine.memory_per_worker = cap;
  return seconds;
}

}  // namespace plait::strategy::pipeline
