// What to do about a layer whose inputs do not fit it, where there is an obvious next step. Inside
// this room only.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "graph/spec.hpp"

namespace plait::graph {

/// Of a layer that ops::result_shape has refused with this text: how the text goes on ("; use
/// ..."), or nothing.
std::string shape_advice(const ops::Operation& layer, std::span<const tensor::Shape> srcs,
                         std::string_view refusal);

/// Whether the layer takes its two inputs in the other order only.
bool fits_swapped(const ops::Operation& layer, std::span<const tensor::Shape> srcs);

}  // namespace plait::graph
