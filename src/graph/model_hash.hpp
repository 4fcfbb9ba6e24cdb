// The hash of a model: which weights and optimizer arrays fit it. It does not depend on how plans
// cut the model's blocks.
#pragma once

#include <string>

#include "graph/spec.hpp"

namespace plait::graph {

/// Of names, sizes and layers: equal models, equal text.
std::string model_hash(const ModelSpec& model);

}  // namespace plait::graph
