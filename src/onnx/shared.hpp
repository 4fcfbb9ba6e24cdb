// Which layers of an ONNX file train the same weights. How a model says it is graph/tied.hpp's.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "onnx/layers.hpp"

namespace plait::onnx {

/// A layer under the name that it has in the model.
struct NamedLayer {
  const ImportedLayer* layer;
  std::string name;
};

struct SharedWeights {
  /// Of each layer, the index of the earlier one whose weights it uses.
  std::vector<std::optional<std::size_t>> owners{};
  /// One line for each owner whose users are found by equal values, and for each tensor of the file
  /// that plait trains as several.
  std::vector<std::string> notes{};
};

/// Layers in the order of the model. Two share if all their trainable tensors are the same ones of
/// the file, read the same way. What an exporter stores once because it is equal (behind Identity)
/// counts only if its values are not all the same. A matrix and its transpose with equal bits, as
/// PyTorch's constant folding stores tied ones, count as one.
SharedWeights shared_weights(const std::vector<NamedLayer>& layers);

}  // namespace plait::onnx
