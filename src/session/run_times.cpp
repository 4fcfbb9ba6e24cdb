// Sums, and the median of the last steps.
#include "session/run_times.hpp"

#include "base/median.hpp"

namespace plait::session {

void RunTimes::add_step(double seconds) {
  steps_ += seconds;
  if (last_steps_.size() < kStepsTimed) last_steps_.emplace_back();
  last_steps_[count_++ % kStepsTimed] = seconds;
}

double RunTimes::median_step() const { return median(last_steps_); }

double RunTimes::lap() {
  const double seconds = report_.seconds();
  report_ = Stopwatch();
  return seconds;
}

}  // namespace plait::session
