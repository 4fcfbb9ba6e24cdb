// The operators that stand for one layer of plait.
#pragma once

#include <optional>

#include "onnx/layers.hpp"
#include "onnx/node_reader.hpp"

namespace plait::onnx {

struct ReadLayer {
  ops::Operation layer;
  std::vector<tensor::Tensor> parameters = {};  ///< as in ImportedLayer, like the next
  std::vector<StoredTensor> stored = {};
  bool turned = false;  ///< the weight is the node's second input transposed
};

/// None where the operator is no layer by itself; refused where its numbers are none of plait's.
std::optional<ReadLayer> read_layer(const NodeReader& node);

/// The double with the shortest digits that give this float: 1e-05, not 9.99999974e-06.
double decimal(float value);

}  // namespace plait::onnx
