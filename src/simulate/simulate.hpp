// The simulator: plays a plan on a cost model. It knows tasks, links and time, no strategy.
#pragma once

#include "cost/cost_model.hpp"
#include "trace/trace.hpp"

namespace plait::simulate {

struct SimulateOptions {
  std::int64_t minibatches = 3;  ///< a pipeline needs depth + 3 to show its steady state
  bool keep_events = true;       ///< false: totals only
  int mode = 0;                  ///< of the plan's
};

/// Enough for a plan to show its steady state.
std::int64_t steady_minibatches(const plan::Plan& plan);

struct Simulation {
  trace::Trace trace;
  double seconds = 0;          ///< of all minibatches
  double step_seconds = 0;     ///< steady state: from one minibatch's last update to the next one's
  double utilisation = 0;      ///< share of compute, mean of the workers, in the steady state
  std::vector<double> busy{};  ///< share of compute, by worker, of a step in the steady state
  std::int64_t bytes_per_step = 0;  ///< sent by all workers together
  std::int64_t messages_per_step = 0;
};

/// Every task leaves one event (a send, or a receive without a wait, of no length), after an event
/// of kind wait where it had to wait. Loading counts as compute, sums of reductions as
/// communication. link_state.hpp says how messages share the links.
/// Failure naming the blocked workers (the first 16) and their tasks where the plan cannot come to
/// its end. The indices in the plan must be sound (check_plan).
Simulation simulate(const plan::Plan& plan, const cost::CostModel& cost,
                    const SimulateOptions& options = {});

}  // namespace plait::simulate
