// Builds the events of tasks, in seconds since the clock was started.
#include "run/task_log.hpp"

namespace plait::run {

trace::Event TaskLog::event(const TaskRun& at, trace::Activity activity, double begin,
                            double end) const {
  return {.task = static_cast<std::int32_t>(at.task),
          .activity = activity,
          .minibatch = at.minibatch,
          .step = at.step,
          .begin = begin - begin_,
          .end = end - begin_,
          .bytes = 0,
          .play = steps_};
}

void TaskLog::add(const TaskRun& at, trace::Activity activity, double begin, double end) {
  trace_.add(event(at, activity, begin, end));
}

void TaskLog::computed(const TaskRun& at, double begin) {
  add(at, trace::Activity::compute, begin, now_seconds());
}

void TaskLog::communicated(const TaskRun& at, double begin, std::size_t bytes) {
  trace::Event one = event(at, trace::Activity::communicate, begin, now_seconds());
  one.bytes = static_cast<std::int64_t>(bytes);
  trace_.add(one);
}

void TaskLog::exchanged(const TaskRun& at, const Exchanged& what) {
  const double end = now_seconds();
  const double middle = what.begin + what.waited;
  if (what.waited > 0) add(at, trace::Activity::wait, what.begin, middle);
  trace::Event one = event(at, trace::Activity::communicate, middle, end);
  one.bytes = what.bytes;
  trace_.add(one);
}

}  // namespace plait::run
