// The layer calls of a block as block_sizes counts them: those of fused_steps, with their sizes.
#pragma once

#include <optional>
#include <vector>

#include "graph/layer_sizes.hpp"

namespace plait::graph {

/// One layer call. Conversions make tensors beyond those of fused_steps.
struct CountedStep {
  ops::Operation spec;
  std::vector<int> srcs;
  int dst = 0;
  bool residual = false;  ///< an add is fused into this convolution; srcs.back() is the skip
  std::optional<tensor::Layout> convert_to{};
  LayerSizes sizes{};

  bool adds() const { return std::holds_alternative<ops::Add>(spec) && !convert_to; }
  bool trains() const { return sizes.weights > 0; }
};

std::vector<CountedStep> counted_steps(const BlockSpec& block, int inputs);

}  // namespace plait::graph
