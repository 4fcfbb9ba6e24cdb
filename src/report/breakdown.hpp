// Where the time and the bytes of a trace went: per worker, per block, from worker to worker.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "plan/plan.hpp"
#include "trace/trace.hpp"

namespace plait::report {

/// Seconds per step of one worker; what is left of `span` passes between tasks.
struct WorkerSeconds {
  double forward = 0;
  double backward_data = 0;
  double backward_weights = 0;
  double update = 0;
  double other = 0;  ///< loading, loss, clipping
  double communication = 0;
  double waiting = 0;
  double span = 0;  ///< from the first task of a step to the end of its last

  double compute() const { return forward + backward_data + backward_weights + update + other; }
};

/// Seconds per step of a block, all workers together.
struct BlockTimes {
  std::string name;
  double forward = 0;
  double backward_data = 0;
  double backward_weights = 0;
};

struct Breakdown {
  std::int64_t steps = 0;  ///< that the means are over
  std::vector<WorkerSeconds> workers{};
  /// Those that compute, in the network's order; pieces and repetitions of a block with it.
  std::vector<BlockTimes> blocks{};
  std::vector<std::vector<double>> bytes{};            ///< per step, [from][to]
  std::vector<std::vector<double>> compute_by_step{};  ///< seconds, [worker][step]
};

/// Of the steps that every worker with events has from their first to their last task. A message
/// to a group counts as spread evenly over its other members.
Breakdown break_down(const plan::Plan& plan, const trace::Trace& trace);

/// A worker whose computing takes much longer than that of the others.
struct Straggler {
  int worker = 0;
  double compute = 0;               ///< seconds per step
  double others = 0;                ///< the median of the others'
  std::optional<double> planned{};  ///< how many times the others' work the plan gives it
  double cost() const { return compute - others; }
};

/// Much longer is a quarter, and a tenth of the step, in a quarter of ten steps or more. `planned`
/// may be empty.
std::optional<Straggler> find_straggler(const Breakdown& measured, const Breakdown& planned);

}  // namespace plait::report
