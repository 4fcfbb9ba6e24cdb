// Which nodes of a block are computed together, as one layer call.
#pragma once

#include <vector>

#include "graph/spec.hpp"

namespace plait::graph {

/// One layer call. Of a block with n inputs tensors 0 .. n - 1 are those, tensor n + i the result
/// of node i.
struct FusedStep {
  int node = 0;  ///< that it computes, the first of them
  int last = 0;  ///< the one whose result it leaves: `node` where nothing is fused
  std::vector<int> srcs{};
  int dst = 0;
  bool relu = false;      ///< a ReLU is fused into this BatchNorm
  bool residual = false;  ///< an add is fused into this convolution; srcs.back() is the skip
};

/// BatchNorm + ReLU and convolution + add are one step where the first has no other reader.
std::vector<FusedStep> fused_steps(const BlockSpec& block, int inputs);

/// Whether step i is a sparse linear that ends in the activation of the step behind it, which
/// nobody else reads: their forward is one, their backward are two.
bool ends_in_activation(const BlockSpec& block, const std::vector<FusedStep>& steps, std::size_t i);

}  // namespace plait::graph
