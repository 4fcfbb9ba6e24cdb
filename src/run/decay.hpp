// Which weights of a block --weight-decay is for: all of them, or matrices only (parameters of two
// or more dimensions), which spares biases and the weights of normalisation.
#pragma once

#include <vector>

#include "kernels/block.hpp"

namespace plait::run {

/// Floats [begin, end) of a block's weights.
struct DecayRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  bool decays = true;
  bool operator==(const DecayRange&) const = default;
};

/// A sparse weight is a matrix; a part of a parameter is what the whole is.
bool is_matrix(const ops::ParameterSpec& parameter);

/// All weights of the block, from the first to the last, gaps and padding included; neighbours
/// differ. One range where `only_matrices` is false.
std::vector<DecayRange> decay_ranges(const kernels::Block& block, bool only_matrices);

}  // namespace plait::run
