// An ONNX graph read as plait's layers: a flat graph of them, with their parameters.
#pragma once

#include <string>
#include <vector>

#include "graph/spec.hpp"
#include "onnx/graph.hpp"

namespace plait::onnx {

/// The tensor of the file behind a parameter; "" where it has none, or a node states it.
struct StoredTensor {
  std::string name{};
  std::string read{};   ///< the name that the node reads
  bool turned = false;  ///< it is the parameter transposed
  bool merged = false;  ///< read through Identity: stored once, perhaps only because it is equal
};

/// One layer. `inputs` are indices of earlier layers, or kBlockInput for the graph's input.
struct ImportedLayer {
  std::string node;  ///< its name in the file, and the operator: "'Conv_0' (Conv)"
  std::string path;  ///< of its module in PyTorch, "layer1.0.conv1"; "" where the file does not say
  ops::Operation layer;
  std::vector<int> inputs;
  /// Convolution, linear: weight, and bias where it has one. BatchNorm: weight, bias, running_mean,
  /// running_var.
  std::vector<tensor::Tensor> parameters = {};
  std::vector<StoredTensor> stored = {};  ///< what these were read from
};

struct ImportedNetwork {
  std::vector<ImportedLayer> layers;
  int output = graph::kBlockInput;   ///< the layer that makes the graph's output
  tensor::Shape input{};             ///< of one sample
  std::vector<std::string> notes{};  ///< what the layers do that the file did not
};

/// `usual_input` is the shape of a sample where the graph does not state it. UserError with
/// `source` (the file's name) for anything that is no layer of plait, with all such nodes at once.
/// Constants, shapes that nodes compute, and operators spelled with several nodes are resolved;
/// Dropout is kept unless the file switches it off.
ImportedNetwork layers_of(const onnx_graph::Graph& graph, const std::string& source,
                          const tensor::Shape& usual_input = {});

}  // namespace plait::onnx
