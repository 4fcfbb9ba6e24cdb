// BatchNorm (+ ReLU) as a layer over our own passes: fewer reads than oneDNN's, no stored mask, and
// the skip's gradient is added in the same pass.
#pragma once

#include "kernels/layer.hpp"

namespace plait::kernels::simd {

std::unique_ptr<Layer> make_batch_norm(const LayerRequest& request);

}  // namespace plait::kernels::simd
