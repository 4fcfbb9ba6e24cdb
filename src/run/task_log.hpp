// TaskLog: what a worker does, as events of its trace, and what it is doing right now, as its
// status on the board.
#pragma once

#include "base/clock.hpp"
#include "run/worker_context.hpp"

namespace plait::run {

class TaskLog {
 public:
  /// Both outlive the log.
  TaskLog(trace::WorkerTrace& trace, WorkerStatus& status)
      : trace_(trace), status_(status), begin_(now_seconds()) {}

  /// Events count from now on.
  void restart_clock() { begin_ = now_seconds(); }
  void next_step() { ++steps_; }
  void begin_task(const TaskRun& at) {
    status_.begin_task(static_cast<std::int64_t>(at.task), at.minibatch, at.step);
  }
  void set(WorkerState state) { status_.set(state); }

  /// From `begin` (now_seconds) until now.
  void computed(const TaskRun& at, double begin);
  void communicated(const TaskRun& at, double begin, std::size_t bytes);
  /// Of a communication until now that waited in between. The trace shows the wait first and in one
  /// piece, whatever order the messages came in.
  struct Exchanged {
    double begin = 0;
    double waited = 0;
    std::int64_t bytes = 0;
  };
  void exchanged(const TaskRun& at, const Exchanged& what);

  /// Calls body() with the status set to waiting, and records the wait.
  template <class Body>
  void waiting(const TaskRun& at, const Body& body) {
    status_.set(WorkerState::waiting);
    const double begin = now_seconds();
    body();
    const double end = now_seconds();
    status_.set(WorkerState::working);
    if (end - begin > kShortestWait) add(at, trace::Activity::wait, begin, end);
  }

 private:
  /// Shorter waits are part of the task they belong to.
  static constexpr double kShortestWait = 1e-6;

  void add(const TaskRun& at, trace::Activity activity, double begin, double end);
  trace::Event event(const TaskRun& at, trace::Activity activity, double begin, double end) const;

  trace::WorkerTrace& trace_;
  WorkerStatus& status_;
  double begin_;
  std::int64_t steps_ = 0;
};

}  // namespace plait::run
