// Why a node whose operator plait knows is still none of its layers.
#pragma once

#include "onnx/node_reader.hpp"

namespace plait::onnx {

/// Whether no network can have the node as a layer: an operator that plait does not know, or a
/// transposition of images that is no part of another layer.
bool is_no_layer(const NodeReader& node);

/// One clause, "adds a constant of 8, but plait's add takes computed tensors"; empty where plait
/// simply has no layer for it. `output` is what leaves the graph.
std::string why_no_layer(const NodeReader& node, const std::string& output);

}  // namespace plait::onnx
