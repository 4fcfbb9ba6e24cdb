// Shapes through a network, and the refusal of what does not fit. All shapes are of one sample.
#pragma once

#include <span>
#include <vector>

#include "model/spec.hpp"

namespace plait::model {

/// dst shape of every node, in order. UserError with block, node and both shapes where it does not
/// fit.
std::vector<tensor::Shape> node_shapes(const BlockSpec& block, const tensor::Shape& src);

/// Shapes at the borders of the chain: [0] is the input, [i + 1] the dst of block i.
std::vector<tensor::Shape> border_shapes(const ModelSpec& model);

/// dst shape of one layer; `where` ("block 'conv1', node 'relu'") opens the message of a UserError.
tensor::Shape layer_shape(const LayerSpec& layer, std::span<const tensor::Shape> srcs,
                          const std::string& where);

}  // namespace plait::model
