// A network of ours out of an ONNX file: its layers as a chain of blocks, with their weights.
#pragma once

#include "onnx/layers.hpp"

namespace plait::onnx {

struct ImportedModel {
  model::ModelSpec model;
  std::vector<checkpoint::NamedTensor> weights;
};

/// The chain is cut wherever only one tensor goes on; a convolution, a pool and a linear layer
/// begin a block, and what follows them joins it. UserError with `source` (the file's name) where
/// the graph is no chain, does not state the size of its input, or has sizes beyond plait's limits.
ImportedModel to_model(const ImportedNetwork& network, const std::string& name,
                       const std::string& source);

}  // namespace plait::onnx
