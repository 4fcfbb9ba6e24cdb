// Advice on plans: which is best, why, and what limits it.
#pragma once

#include <string>
#include <vector>

#include "cost/cost_model.hpp"
#include "plan/plan.hpp"
#include "simulate/simulate.hpp"

namespace plait::planner {

/// A plan as it was played.
struct Outcome {
  plan::Plan plan;
  simulate::Simulation simulation;
  std::int64_t peak_memory = 0;
  int staleness = 0;
  double speedup = 1;
};

/// Whether it trains otherwise than plain SGD does: weights read late, replicas that meet now and
/// then, or a network with parts of the strategy's own. "" where it does not.
std::string what_it_changes(const plan::Plan& plan);

/// Whether every worker has the whole network: such a plan is data parallelism, whatever strategy
/// made it.
bool is_data_parallel(const plan::Plan& plan);

/// The fastest first. Plans whose steps differ by less than 3 % from the fastest of them are
/// equals, and the predictions are no better than that: of equals plain SGD comes first, then less
/// staleness, fewer bytes, fewer seconds.
std::vector<const Outcome*> best_first(std::vector<const Outcome*> outcomes);
std::vector<const Outcome*> best_first(const std::vector<Outcome>& outcomes);

/// Why the best plan is before the next: "gpipe, the next, takes 12% longer: ...".
std::string comparison(const Outcome& best, const Outcome& next);

/// Broken between words into lines of at most 80 columns; further lines are indented.
std::string folded(const std::string& text);

/// "balance", "bytes", "memory" or "compute", with figures.
std::string what_limits(const Outcome& outcome, const cost::CostModel& cost);

/// A few lines of at most 80 columns: the best plan, the next strategy on as many workers, what
/// limits it, and the best that is plain SGD if that is another one.
std::string plan_advice(const std::vector<const Outcome*>& ranked, const cost::CostModel& cost);

}  // namespace plait::planner
