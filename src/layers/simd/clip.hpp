// Clip to [0, ceiling] as a layer, in any layout. A NaN stays one.
#pragma once

#include "layers/layer.hpp"

namespace plait::layers::simd {

std::unique_ptr<Layer> make_clip(const LayerRequest& request);

}  // namespace plait::layers::simd
