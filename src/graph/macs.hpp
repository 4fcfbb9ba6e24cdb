// What a network costs, counted from its shapes alone: multiply-adds, parameters and activations.
// Time and bytes on a machine are not counted here.
#pragma once

#include <span>
#include <vector>

#include "graph/spec.hpp"

namespace plait::graph {

/// All numbers are for the forward pass of one sample. Only convolutions and linear layers have
/// MACs; a bias is free.
struct BlockCost {
  std::int64_t macs = 0;
  std::int64_t parameters = 0;  ///< trainable elements
  std::int64_t src_elements = 0;
  std::int64_t dst_elements = 0;
  std::int64_t activation_elements = 0;  ///< dst of every node, what a forward pass leaves behind
  bool operator==(const BlockCost&) const = default;
};

BlockCost block_cost(const BlockSpec& block, std::span<const tensor::Shape> srcs);
/// Of a block with one input.
inline BlockCost block_cost(const BlockSpec& block, const tensor::Shape& src) {
  return block_cost(block, {&src, 1});
}

/// One per block, in order.
std::vector<BlockCost> block_costs(const ModelSpec& model);

/// The whole model as if it were one block.
BlockCost model_cost(const ModelSpec& model);

}  // namespace plait::graph
