// Max pooling over channel-blocked activations, the winner's place in the window kept as one byte.
#pragma once

#include "kernels/layer.hpp"

namespace plait::kernels::simd {

/// Blocked layouts and windows of at most 256 places; nullptr for the rest.
std::unique_ptr<Layer> make_max_pool(const LayerRequest& request);

}  // namespace plait::kernels::simd
