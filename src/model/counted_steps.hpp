// The layer calls of a block as block_sizes counts them: fused as layers/block_graph fuses them.
#pragma once

#include <optional>
#include <vector>

#include "model/layer_sizes.hpp"

namespace plait::model {

/// One layer call. Of a block with n inputs tensors 0 .. n - 1 are those, tensor n + i the result
/// of node i; conversions make further ones.
struct CountedStep {
  ops::Operation spec;
  std::vector<int> srcs;
  int dst = 0;
  bool residual = false;  ///< an add is fused into this convolution; srcs[1] is the skip
  std::optional<tensor::Layout> convert_to{};
  LayerSizes sizes{};

  bool adds() const { return std::holds_alternative<ops::Add>(spec) && !convert_to; }
  bool trains() const { return sizes.weights > 0; }
};

/// BatchNorm + ReLU and convolution + add are one step where the first has no other reader.
std::vector<CountedStep> fused_steps(const BlockSpec& block, int inputs);

}  // namespace plait::model
