// Operators that ONNX spells with several nodes, found and written as one node each.
#pragma once

#include "onnx/plain_graph.hpp"

namespace plait::onnx {

inline constexpr const char* kSilu = "plait::Silu";  ///< x sigmoid(x), which ONNX has no name for

/// GELU, SiLU, ReLU6, hard sigmoid and hard swish, layer normalisation, matrix product and bias.
/// The nodes that nothing else reads are gone afterwards.
void join_patterns(PlainGraph& graph);

}  // namespace plait::onnx
