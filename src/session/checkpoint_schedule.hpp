// CheckpointSchedule: when a run saves: every N steps, every M minutes, and where steps overlap
// only between ranges of minibatches.
#pragma once

#include <cstdint>

#include "base/clock.hpp"
#include "plan/plan.hpp"

namespace plait::session {

struct CheckpointOptions {
  std::int64_t every = 0;  ///< steps; 0: not by steps
  double minutes = 0;      ///< 0: not by time
  bool writes = true;      ///< false: nothing is ever saved within an epoch
};

class CheckpointSchedule {
 public:
  CheckpointSchedule(const plan::Plan& plan, const CheckpointOptions& options);

  /// The minibatches of a range depend on where it began (steps overlap, weights are old, or
  /// something is done at its end only): a save inside it would be one of other bits.
  bool between_ranges_only() const { return between_ranges_only_; }
  /// Where a range that begins at `step` and goes to `last` at most ends, to save there.
  std::int64_t range_end(std::int64_t step, std::int64_t last) const;
  /// After `step` steps; `wanted`: worker 0 has asked for it.
  bool due(std::int64_t step, bool wanted) const;
  /// Worker 0: by the clock.
  bool due_by_time() const;
  /// True once: the first time that a save by the clock has to wait for the end of a range.
  bool first_late_save();

  /// The run begins at this step, which needs no save.
  void begin(std::int64_t step) { saved(step); }
  void saved(std::int64_t step);
  std::int64_t saved_step() const { return saved_step_; }

 private:
  CheckpointOptions options_;
  bool between_ranges_only_;
  std::int64_t saved_step_ = 0;
  Stopwatch since_saved_;
  bool late_before_ = false;
};

}  // namespace plait::session
