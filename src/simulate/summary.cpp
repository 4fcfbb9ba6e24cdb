// Averages over the minibatches in the middle of a simulated run.
#include "simulate/summary.hpp"

#include <algorithm>

namespace plait::simulate {

namespace {

/// Minibatches first < m <= last are the steady state: neither the first ones nor, where there are
/// others, those that end while the loop runs dry.
struct SteadyState {
  std::int64_t first = 0;
  std::int64_t last = 0;
  double count() const { return static_cast<double>(last - first); }
};

SteadyState steady_state(const SimulatedSteps& steps) {
  // A pipeline settles slowly: its slowest worker first has to fall behind all others.
  const std::int64_t early =
      std::max<std::int64_t>(1, steps.depth > 0 ? steps.minibatches / 2 : steps.minibatches / 4);
  const std::int64_t first = std::min(early, steps.minibatches - 2);
  return {first, std::clamp(steps.minibatches - 1 - steps.depth, first + 1, steps.minibatches - 1)};
}

}  // namespace

void summarise(const SimulatedSteps& steps, Simulation& result) {
  if (steps.minibatches == 0) return;
  const SteadyState steady = steady_state(steps);
  const double begin = steady.first >= 0 ? steps.ends[static_cast<std::size_t>(steady.first)] : 0;
  const double seconds = steps.ends[static_cast<std::size_t>(steady.last)] - begin;
  double compute = 0;
  for (std::int64_t m = steady.first + 1; m <= steady.last; ++m) {
    compute += steps.compute[static_cast<std::size_t>(m)];
  }
  const auto minibatches = static_cast<double>(steps.minibatches);
  const std::vector<trace::WorkerTrace>& workers = result.trace.workers;
  // However the minibatches begin and end, the busiest worker needs its time for each.
  double busiest = 0;
  for (const trace::WorkerTrace& trace : workers) {
    busiest = std::max(busiest, trace.totals().compute / minibatches);
  }
  const double played = seconds / steady.count();
  result.step_seconds = std::max(played, busiest);
  std::int64_t bytes = 0;
  for (const trace::WorkerTrace& trace : workers) {
    const double each = trace.totals().compute / minibatches;
    result.busy.push_back(result.step_seconds > 0 ? each / result.step_seconds : 0);
    bytes += trace.totals().bytes;
  }
  if (seconds > 0) {
    result.utilisation =
        compute / steady.count() / (result.step_seconds * static_cast<double>(workers.size()));
  }
  result.bytes_per_step = bytes / steps.minibatches;
  result.messages_per_step = steps.messages / steps.minibatches;
}

std::int64_t steady_minibatches(const plan::Plan& plan) {
  constexpr int kRounds = 6;  // of what comes only now and then
  int every = 1;
  int depth = 0;
  for (const plan::Program& program : plan.programs) {
    for (const plan::Task& task : program.tasks) {
      every = std::max(every, task.when.every);
      depth = std::max(depth, task.when.offset);
    }
  }
  const std::int64_t few = depth == 0 ? 3 : 16 + 8 * std::int64_t{depth};
  return every == 1 ? few : std::max<std::int64_t>(few, std::int64_t{kRounds} * every);
}

}  // namespace plait::simulate
