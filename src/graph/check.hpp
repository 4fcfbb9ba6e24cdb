// The door of this room: a model that passes here can be counted and allocated without surprises
// (names, graph, shapes, sizes). Everything from a file or a command line goes through it.
#pragma once

#include <functional>
#include <span>
#include <string>

#include "graph/spec.hpp"

namespace plait::graph {

constexpr std::int64_t kMaxLayers = 100'000;
constexpr std::int64_t kMaxElements = std::int64_t{1}
                                      << 40;  ///< of a tensor, and of all parameters
constexpr std::int64_t kMaxMacs = std::int64_t{1} << 60;

/// Looks at a layer and what it reads, before its shape is computed.
using LayerCheck =
    std::function<void(const BlockSpec&, const Node&, std::span<const tensor::Shape>)>;

/// UserError that opens with `where` (a file name or a model's name) unless every block has a name
/// and layers, "block.layer" names are unique, every layer's result is used, shapes fit, weights
/// that are shared (Node::weights) fit too and sizes are within the limits above. `check` may
/// refuse layers in words of its own.
void check_model(const ModelSpec& model, const std::string& where, const LayerCheck& check = {});

/// Of one block on sources of these shapes: graph, shapes and sizes, but not names. Returns the
/// shape of its result.
tensor::Shape check_block(const BlockSpec& block, std::span<const tensor::Shape> srcs,
                          const std::string& where);

}  // namespace plait::graph
