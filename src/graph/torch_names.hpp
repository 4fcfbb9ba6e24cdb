// The names that torchvision's networks (VGG with BatchNorm, ResNet, DenseNet, ...) give to the
// parameters of the zoo's.
#pragma once

#include <map>
#include <string>

#include "graph/spec.hpp"

namespace plait::graph {

/// By plait's full names ("conv1_1.conv.weight" -> "features.0.weight"), for every parameter.
/// Recognised by the names of blocks and layers; empty for any other network.
std::map<std::string, std::string> torch_names(const ModelSpec& model);

}  // namespace plait::graph
