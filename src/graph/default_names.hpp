// The names layers get in a block where a model file gives none.
#pragma once

#include <string>
#include <vector>

#include "graph/spec.hpp"

namespace plait::graph {

/// "conv", "bn", "relu", "pool", ...; numbered from 1 ("conv1", "conv2") where the word comes more
/// than once among `layers`.
std::vector<std::string> default_names(const std::vector<ops::Operation>& layers);

}  // namespace plait::graph
