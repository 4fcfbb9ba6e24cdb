// An ONNX graph read as plait's layers: a flat graph of them, with their parameters.
#pragma once

#include <string>
#include <vector>

#include "model/spec.hpp"
#include "onnx/graph.hpp"

namespace plait::onnx {

/// One layer. `inputs` are indices of earlier layers, or kBlockInput for the graph's input.
struct ImportedLayer {
  std::string node;  ///< its name in the file, and the operator: "'Conv_0' (Conv)"
  ops::Operation layer;
  std::vector<int> inputs;
  /// Convolution, linear: weight, and bias where it has one. BatchNorm: weight, bias, running_mean,
  /// running_var.
  std::vector<tensor::Tensor> parameters = {};
};

struct ImportedNetwork {
  std::vector<ImportedLayer> layers;
  int output = model::kBlockInput;       ///< the layer that makes the graph's output
  std::vector<std::int64_t> input_dims;  ///< of the graph's input, the batch included
};

/// UserError with `source` (the file's name) and the node for anything that is no layer of plait.
/// Dropout and Identity are left out; GELU is recognised as PyTorch and to_onnx spell it.
ImportedNetwork layers_of(const onnx_graph::Graph& graph, const std::string& source);

}  // namespace plait::onnx
