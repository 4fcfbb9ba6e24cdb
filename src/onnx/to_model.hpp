// A network of ours out of an ONNX file: its layers as a graph of blocks, with their weights.
#pragma once

#include "onnx/layers.hpp"

namespace plait::onnx {

struct ImportedModel {
  graph::ModelSpec model;
  std::vector<checkpoint::NamedTensor> weights;
  std::vector<std::string> notes;  ///< one line each, of what the file says otherwise
};

/// Fine blocks, one for each group of block_groups.hpp; the parameters have the names of PyTorch's
/// state_dict where the file has them. Layers that read the same stored tensors share them
/// (graph::Node::weights; shared.hpp). UserError with `source` (the file's name) where tensors do
/// not fit, or sizes are beyond plait's limits.
ImportedModel to_model(const ImportedNetwork& network, const std::string& name,
                       const std::string& source);

}  // namespace plait::onnx
