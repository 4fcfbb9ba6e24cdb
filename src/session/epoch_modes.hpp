// EpochModes: the mode of the plan that each epoch is played in, which follows from the mean
// training losses of the epochs before it. Equal on all workers.
#pragma once

#include <vector>

#include "planner/planner.hpp"

namespace plait::session {

class EpochModes {
 public:
  /// `choice` null: the plan has one mode.
  explicit EpochModes(planner::ModeOfEpoch choice) : choice_(std::move(choice)) {}

  /// For the epoch that begins, of `epochs`; true where it is another mode than before.
  bool choose(std::int64_t epochs);
  /// -1: none chosen.
  int mode() const { return mode_; }
  /// For MinibatchRange.
  int played() const { return mode_ < 0 ? 0 : mode_; }

  /// Of the epoch that has ended.
  void add(double loss) { losses_.push_back(loss); }
  /// Of all epochs so far; a resumed run restores them.
  std::vector<double>& losses() { return losses_; }

 private:
  planner::ModeOfEpoch choice_;
  std::vector<double> losses_;
  int mode_ = -1;
};

}  // namespace plait::session
