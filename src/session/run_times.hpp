// RunTimes: how long steps, the current epoch and the whole run have taken on this worker.
#pragma once

#include <cstddef>
#include <vector>

#include "base/clock.hpp"

namespace plait::session {

class RunTimes {
 public:
  /// Of one step.
  void add_step(double seconds);
  /// Of all steps.
  double steps() const { return steps_; }
  /// Of the last kStepsTimed steps; 0 before the first.
  double median_step() const;
  static constexpr std::size_t kStepsTimed = 1000;

  /// Since this object was made.
  double run() const { return run_.seconds(); }
  /// Since begin_epoch().
  double epoch() const { return epoch_.seconds(); }
  void begin_epoch() { epoch_ = Stopwatch(); }
  /// Since begin_report() or the last call.
  double lap();
  void begin_report() { report_ = Stopwatch(); }

 private:
  double steps_ = 0;
  std::size_t count_ = 0;
  std::vector<double> last_steps_;
  Stopwatch run_;
  Stopwatch epoch_;
  Stopwatch report_;
};

}  // namespace plait::session
