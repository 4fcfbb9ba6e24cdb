// EpochModes: the mode of the plan that each epoch is played in, which follows from the losses of
// the epochs before it. Equal on all workers.
#pragma once

#include <vector>

#include "planner/planner.hpp"

namespace plait::session {

class EpochModes {
 public:
  /// `choice` null: the plan has one mode.
  explicit EpochModes(planner::ModeOfEpoch choice) : choice_(std::move(choice)) {}

  /// For the epoch that begins, of `epochs`, behind epochs with these training losses; true where
  /// it is another mode than before.
  bool choose(std::int64_t epochs, const std::vector<double>& losses);
  /// -1: none chosen.
  int mode() const { return mode_; }
  /// For MinibatchRange.
  int played() const { return mode_ < 0 ? 0 : mode_; }

 private:
  planner::ModeOfEpoch choice_;
  int mode_ = -1;
};

}  // namespace plait::session
