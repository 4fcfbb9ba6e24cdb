// Where a node stands in the PyTorch module that it was exported from.
#pragma once

#include <string>

#include "onnx/graph.hpp"

namespace plait::onnx {

/// "layer1.0.conv1": of the names of its parameters ("layer1.0.conv1.weight") where it has some, or
/// of its own ("/layer1/layer1.0/conv1/Conv"); "" where neither says it. Fit for names of a model.
std::string module_path(const onnx_graph::GraphNode& node, bool has_parameters);

}  // namespace plait::onnx
