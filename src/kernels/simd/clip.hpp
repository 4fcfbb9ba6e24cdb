// Clip to [0, ceiling] as a layer, in any layout. A NaN stays one.
#pragma once

#include "kernels/layer.hpp"

namespace plait::kernels::simd {

std::unique_ptr<Layer> make_clip(const LayerRequest& request);

}  // namespace plait::kernels::simd
