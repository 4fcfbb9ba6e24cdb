// A model as a text table: block, layers, output shape, parameters, MACs.
#pragma once

#include <string>

#include "graph/spec.hpp"

namespace plait::graph {

/// Ends with a newline. Three or more equal blocks in a row share a line, with their sums.
std::string summary(const ModelSpec& model);

}  // namespace plait::graph
