// Layer cases of the operations that are computed by plain loops or on the kernels of others.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "layers/layer.hpp"

namespace plait::layers::layer_testing {

/// `src` is a batch shape; a second source, where the layer takes one, has the shape of dst.
struct LayerCase {
  std::string name;
  ops::Operation spec;
  tensor::Shape src;
  bool relu = false;
  bool residual = false;
  std::optional<ops::Activation> activation{};  ///< fused into the forward of a sparse linear
};

inline std::vector<LayerCase> operation_cases() { return {}; }

}  // namespace plait::layers::layer_testing
