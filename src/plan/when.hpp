// When a task runs. The one place that decides it: worker, simulator and check ask here.
#pragma once

#include <cstdint>

namespace plait::plan {

/// Minibatches are numbered by updates, from 0, over the whole run. The loop plays them in ranges
/// (an epoch, the way to a checkpoint), each in one mode of the plan; at the end of a range it runs
/// empty.
struct MinibatchRange {
  std::int64_t first = 0;
  std::int64_t last = 0;  ///< one behind
  int mode = 0;           ///< of the plan's
  bool ends = true;  ///< false: a look at the middle of a longer range, whose end is not played
  bool operator==(const MinibatchRange&) const = default;
};

struct When {
  int offset = 0;  ///< at step t the task works on minibatch t - offset
  int every = 1;   ///< runs at the steps t with t % every == phase
  int phase = 0;
  int mode = -1;        ///< index of Plan::modes: runs in ranges of this mode only; -1: in all
  bool at_end = false;  ///< runs for the last minibatch of a range only
  bool operator==(const When&) const = default;

  std::int64_t minibatch_at(std::int64_t step) const { return step - offset; }
};

/// Whether it runs in ranges of this mode at all.
constexpr bool runs_in(const When& when, int mode) { return when.mode < 0 || when.mode == mode; }

/// Whether it runs at this step of the loop that plays `range`.
constexpr bool runs(const When& when, std::int64_t step, const MinibatchRange& range) {
  const std::int64_t minibatch = step - when.offset;
  if (minibatch < range.first || minibatch >= range.last) return false;
  if (step % when.every != when.phase || !runs_in(when, range.mode)) return false;
  return !when.at_end || (range.ends && minibatch + 1 == range.last);
}

/// Whether `a` runs for every minibatch that `b` runs for, in ranges of this mode.
bool runs_whenever(const When& a, const When& b, int mode);

}  // namespace plait::plan
