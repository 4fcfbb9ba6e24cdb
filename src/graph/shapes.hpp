// Shapes through a network, and the refusal of what does not fit. All shapes are of one sample.
#pragma once

#include <span>
#include <vector>

#include "graph/spec.hpp"

namespace plait::graph {

/// dst shape of every node, in order. UserError with block, node and both shapes where it does not
/// fit.
std::vector<tensor::Shape> node_shapes(const BlockSpec& block, std::span<const tensor::Shape> srcs);
/// Of a block with one input.
inline std::vector<tensor::Shape> node_shapes(const BlockSpec& block, const tensor::Shape& src) {
  return node_shapes(block, {&src, 1});
}
/// What a node reads, where the block reads `srcs` and its earlier nodes have made `shapes`.
/// UserError where it reads neither; `where` opens the message.
std::vector<tensor::Shape> node_inputs(const Node& node, std::span<const tensor::Shape> srcs,
                                       std::span<const tensor::Shape> shapes,
                                       const std::string& where);

/// [0] is the input of the model, [i + 1] the dst of block i.
std::vector<tensor::Shape> border_shapes(const ModelSpec& model);
/// What block `index` reads, of a model with these borders.
std::vector<tensor::Shape> input_shapes(const ModelSpec& model,
                                        std::span<const tensor::Shape> borders, std::size_t index);

}  // namespace plait::graph
