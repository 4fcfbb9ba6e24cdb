// Plays every strategy's plan and takes the fastest that leaves the result plain SGD.
#include "planner/choice.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "plan/worker_memory.hpp"
#include "strategy/strategy.hpp"

namespace plait::planner {

Outcome outcome_of(plan::Plan plan, const cost::CostModel& cost, double serial_seconds) {
  Outcome outcome{.plan = std::move(plan), .simulation = {}};
  outcome.simulation = simulate::simulate(
      outcome.plan, cost,
      {.minibatches = simulate::steady_minibatches(outcome.plan), .keep_events = false});
  outcome.peak_memory = std::ranges::max(plan::estimate_memories(outcome.plan));
  outcome.staleness = std::ranges::max(plan::staleness(outcome.plan));
  if (serial_seconds > 0) outcome.speedup = serial_seconds / outcome.simulation.step_seconds;
  return outcome;
}

StrategyChoice choose_strategy(const PlanSettings& settings, const cost::CostModel& cost,
                               const std::function<plan::Plan(const PlanSettings&)>& make) {
  std::vector<Outcome> outcomes;
  std::string refusal;
  PlanSettings one = settings;
  for (const std::string& name : strategy::strategy_names()) {
    one.strategy = name;
    try {
      plan::Plan plan = make(one);
      if (what_it_changes(plan).empty()) outcomes.push_back(outcome_of(std::move(plan), cost, 0));
    } catch (const UserError& error) {
      if (name != "serial" || refusal.empty()) refusal = error.what();
    }
  }
  if (outcomes.empty()) user_error("no strategy that is plain SGD is possible here: {}", refusal);
  const std::vector<const Outcome*> ranked = best_first(outcomes);
  const Outcome& best = *ranked.front();
  const int workers = best.plan.workers();
  std::string why =
      fmt::format("{} on {} worker{}, {:.2f} ms a step predicted", best.plan.strategy, workers,
                  workers == 1 ? "" : "s", 1e3 * best.simulation.step_seconds);
  if (ranked.size() > 1) why += "; " + comparison(best, *ranked[1]);
  return {.strategy = best.plan.strategy, .why = std::move(why)};
}

}  // namespace plait::planner
