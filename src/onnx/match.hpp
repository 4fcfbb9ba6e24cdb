// The weights of an ONNX file under the names of a model that has the same layers.
#pragma once

#include "onnx/layers.hpp"

namespace plait::onnx {

struct MatchedWeights {
  std::vector<checkpoint::NamedTensor> tensors;  ///< "block.layer.weight", as the model needs them
  /// BatchNorms that the file has folded into the convolutions before them: they come out as ones
  /// that only add the bias.
  std::int64_t folded = 0;
};

/// Layers are found by what they are and what they read, not by names. UserError with `source` (the
/// file's name), the node and the model's layer where the two differ.
MatchedWeights match_weights(const graph::ModelSpec& model, const ImportedNetwork& network,
                             const std::string& source);

/// "convolution 3x3, 64 channels, stride 2x2": a layer with the numbers that tell it from others.
std::string layer_text(const ops::Operation& layer);

}  // namespace plait::onnx
