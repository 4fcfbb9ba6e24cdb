// Two loops with the same sums: with events, and without.
#include "simulate/own_work.hpp"

#include <utility>

namespace plait::simulate {

namespace {

double with_events(std::span<const CompiledTask> tasks, trace::Event event,
                   trace::WorkerTrace& trace, double& compute) {
  event.activity = trace::Activity::compute;
  event.end = event.begin;
  for (const CompiledTask& task : tasks) {
    event.begin = event.end;
    event.end += task.seconds;
    trace.add(event);
    compute += task.seconds;
    ++event.task;
  }
  return event.end;
}

}  // namespace

double play_own_work(std::span<const CompiledTask> tasks, const trace::Event& first,
                     trace::WorkerTrace& trace, double& compute) {
  if (trace.keeps_events()) return with_events(tasks, first, trace, compute);
  double time = first.begin;
  double busy = trace.totals().compute;
  double sum = compute;
  for (const CompiledTask& task : tasks) {
    const double begin = std::exchange(time, time + task.seconds);
    busy += time - begin;
    sum += task.seconds;
  }
  compute = sum;
  trace.counted().compute = busy;
  trace.counted().events += std::ssize(tasks);
  return time;
}

}  // namespace plait::simulate
