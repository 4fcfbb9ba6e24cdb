// The tensors of the file behind what a node reads.
#pragma once

#include "onnx/layers.hpp"
#include "onnx/plain_graph.hpp"

namespace plait::onnx {

/// Behind one input; without a name where a node states it, so that no training was meant to change
/// it.
StoredTensor stored_tensor(const PlainGraph& graph, const NodeReader& node, std::size_t input);

/// Behind the inputs from 1 on, the weight first; `turned`: the layer's is that transposed.
std::vector<StoredTensor> stored_tensors(const PlainGraph& graph, const NodeReader& node,
                                         bool turned = false);

/// A line on weights that plait's layer trains and the file's does not have; usually empty.
std::string trained_by_plait_only(const PlainGraph& graph, const NodeReader& node);

}  // namespace plait::onnx
