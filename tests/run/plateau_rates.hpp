// Where a run with the schedule plateau is stopped, so that it cannot go on at its rates without
// the losses of the epochs before.
#pragma once

#include <cstddef>
#include <vector>

namespace plait::run {

/// After so many epochs the rate was once lowered and once kept, by what was known of the losses
/// (the first epoch's is always kept). 0: it never comes to that, or only behind the last epoch.
inline int epochs_that_tell(const std::vector<double>& rates) {
  bool lowered = false;
  bool kept = false;
  for (std::size_t i = 2; i < rates.size(); ++i) {
    (rates[i] < rates[i - 1] ? lowered : kept) = true;
    if (lowered && kept) return static_cast<int>(i);
  }
  return 0;
}

}  // namespace plait::run
