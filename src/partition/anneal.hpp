// Simulated annealing of one stage while its neighbours stay fixed.
#pragma once

#include <cstdint>

#include "base/rng.hpp"
#include "partition/chain.hpp"

namespace plait::partition {

struct AnnealStep {
  double temperature = 0;  ///< in words; 0 takes improvements only
  std::int64_t tries = 0;
  /// Words for the square of a part's deviation from the mean, in vertices of mean weight; then
  /// single vertices may move and unbalance the parts. 0: no part gets heavier than the tolerance,
  /// or than the heaviest was.
  double slack_price = 0;
};

void anneal(StageCost& cost, double tolerance, const AnnealStep& step, Rng& rng);

}  // namespace plait::partition
