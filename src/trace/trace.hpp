// Trace: what happened on each worker, append-only. The simulator and the runtime write the same
// kind; nothing in a run reads it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace plait::trace {

enum class Activity : std::uint8_t { compute, communicate, wait };

struct Event {
  std::int32_t task = 0;  ///< position in the worker's program
  Activity activity = Activity::compute;
  std::int64_t minibatch = 0;
  std::int64_t step = 0;
  double begin = 0;  ///< seconds from the beginning of the trace
  double end = 0;
  std::int64_t bytes = 0;
  /// The worker's count of steps, where an asynchronous pipeline that runs empty and fills again
  /// plays a step twice, with something else between; 0 elsewhere.
  std::int64_t play = 0;
};

/// Seconds by activity over the whole run, whatever the events kept.
struct Totals {
  double compute = 0;
  double communicate = 0;
  double wait = 0;
  std::int64_t events = 0;
  std::int64_t bytes = 0;
};

/// One worker's events: the last `keep_steps` steps (all when negative), and totals of everything.
class WorkerTrace {
 public:
  explicit WorkerTrace(std::int64_t keep_steps = -1) : keep_steps_(keep_steps) {}
  void add(const Event& event) {
    const double seconds = event.end - event.begin;
    switch (event.activity) {
      case Activity::compute: totals_.compute += seconds; break;
      case Activity::communicate: totals_.communicate += seconds; break;
      case Activity::wait: totals_.wait += seconds; break;
    }
    ++totals_.events;
    totals_.bytes += event.bytes;
    if (keep_steps_ != 0) keep(event);
  }
  /// Whether events are kept; else whoever has many may count them here at once.
  bool keeps_events() const { return keep_steps_ != 0; }
  Totals& counted() { return totals_; }
  std::span<const Event> events() const;
  /// Those of the last `steps` steps.
  std::span<const Event> last(std::int64_t steps) const;
  const Totals& totals() const { return totals_; }

 private:
  void keep(const Event& event);

  std::int64_t keep_steps_;
  std::vector<Event> events_;
  std::size_t first_ = 0;  ///< events before it are too old
  Totals totals_;
};

struct Trace {
  std::vector<WorkerTrace> workers;
};

/// Shares of the time between two moments; what is left of 1 is idle.
struct Shares {
  double busy = 0;
  double communication = 0;
  double wait = 0;
};
Shares shares(const Totals& totals, double seconds);

}  // namespace plait::trace
