// Sums, and the median of the last steps.
#include "session/run_times.hpp"

#include <algorithm>

namespace plait::session {

void RunTimes::add_step(double seconds) {
  steps_ += seconds;
  if (last_steps_.size() < kStepsTimed) last_steps_.emplace_back();
  last_steps_[count_++ % kStepsTimed] = seconds;
}

double RunTimes::median_step() const {
  if (last_steps_.empty()) return 0;
  std::vector<double> values = last_steps_;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

double RunTimes::lap() {
  const double seconds = report_.seconds();
  report_ = Stopwatch();
  return seconds;
}

}  // namespace plait::session
