// The operators that stand for one layer of plait.
#pragma once

#include <optional>

#include "onnx/node_reader.hpp"

namespace plait::onnx {

struct ReadLayer {
  ops::Operation layer;
  std::vector<tensor::Tensor> parameters = {};  ///< as in ImportedLayer
};

/// None where the operator is no layer by itself; refused where its numbers are none of plait's.
std::optional<ReadLayer> read_layer(const NodeReader& node);

/// A constant of rank 1 and this size.
tensor::Tensor vector_of(const NodeReader& node, std::size_t input, std::int64_t size);

}  // namespace plait::onnx
