// The small calculations with shapes that exporters leave in a graph, done at once.
#pragma once

#include <optional>

#include "onnx/node_reader.hpp"

namespace plait::onnx {

/// The result of an operator on short stored lists of whole numbers, such as Gather, Concat or Mul
/// behind a Shape; none where the node is something else. onnx_graph::kSymbolic, the size of the
/// batch, is only moved, never calculated with.
std::optional<tensor::Tensor> shape_arithmetic(const NodeReader& node);

/// A list of whole numbers as a stored tensor.
tensor::Tensor whole_number_tensor(const std::vector<std::int64_t>& values);

}  // namespace plait::onnx
