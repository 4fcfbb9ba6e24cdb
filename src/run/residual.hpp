// Residuals: how large the differences are that a strategy has put into a network, relative to what
// is subtracted.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "plan/network.hpp"

namespace plait::run {

/// Of a difference: sums of squares, so that those of batches add up.
struct ResidualSums {
  double difference = 0;
  double other = 0;  ///< of what is subtracted
  /// |difference| / |other|; 0 where both are.
  double residual() const;
};

struct ResidualArgs {
  const float* difference = nullptr;
  const float* other = nullptr;
  std::size_t count = 0;
  int threads = 1;
};

/// Adds to `sums`, in fixed pieces: equal for any number of threads.
void add_residual(const ResidualArgs& args, ResidualSums& sums);

/// The added differences of a network by block, each with its name; others have none.
struct Residual {
  std::string name;
  double value = 0;
};
std::vector<Residual> residuals(const plan::Network& network,
                                const std::vector<ResidualSums>& sums);

}  // namespace plait::run
