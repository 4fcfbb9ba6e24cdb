// Joins of two tensors that lie alike, and how far apart they were.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "plan/network.hpp"

namespace plait::run {

/// Of a difference: sums of squares, so that those of batches add up.
struct ResidualSums {
  double difference = 0;  ///< |src - other|^2
  double other = 0;       ///< |other|^2
  /// |src - other| / |other|; 0 where both are.
  double residual() const;
};

struct JoinArgs {
  const float* src = nullptr;
  const float* other = nullptr;
  float* dst = nullptr;
  std::size_t count = 0;
  int threads = 1;
};

/// dst <- src + other, or src - other. Sums are added up in fixed pieces: equal for any number of
/// threads. Of a sum they are 0.
ResidualSums join_forward(const plan::NetworkBlock& block, const JoinArgs& args);

/// diff <- diff + diff_dst, or - diff_dst for the subtracted one.
void join_backward(const plan::NetworkBlock& block, int tensor, const JoinArgs& args);

/// The differences of a network by block, each with its name; others have none.
struct Residual {
  std::string name;
  double value = 0;
};
std::vector<Residual> residuals(const plan::Network& network,
                                const std::vector<ResidualSums>& sums);

}  // namespace plait::run
