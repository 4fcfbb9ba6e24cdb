// A model as a graph in Graphviz's language: a box for each block, an arrow for each tensor that a
// block reads. Whoever wants a picture gives it to `dot`.
#pragma once

#include <string>

#include "graph/spec.hpp"

namespace plait::graph {

/// Boxes have name, layers, shape of the output and parameters; arrows the bytes of one sample. Of
/// a tensor with many readers only the first arrow says them.
std::string graph_text(const ModelSpec& model);

}  // namespace plait::graph
