// The parameters of blocks and models, and their values at the beginning.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "graph/spec.hpp"
#include "tensor/tensor.hpp"

namespace plait::graph {

/// Of all nodes, named "node.weight" (or "weight" where the node has no name).
std::vector<ops::ParameterSpec> block_parameters(const BlockSpec& block,
                                                 std::span<const tensor::Shape> srcs);
/// Of a block with one input.
inline std::vector<ops::ParameterSpec> block_parameters(const BlockSpec& block,
                                                        const tensor::Shape& src) {
  return block_parameters(block, {&src, 1});
}

/// The same without those that are another layer's (Node::weights).
std::vector<ops::ParameterSpec> own_parameters(const BlockSpec& block,
                                               std::span<const tensor::Shape> srcs);

/// Trainable elements of the whole network, those with several users once.
std::int64_t parameter_count(const ModelSpec& model);

/// The begin of a parameter, plain layout. Depends on (seed, full name) only, so that the same
/// weights come out whichever worker makes them.
tensor::Tensor initial_value(const ops::ParameterSpec& parameter, std::uint64_t seed,
                             const std::string& full_name);

}  // namespace plait::graph
