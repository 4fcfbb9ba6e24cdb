// hard_sigmoid and hard_swish: piecewise polynomials of each element.
#pragma once

#include "kernels/layer.hpp"

namespace plait::kernels::simd {

std::unique_ptr<Layer> make_hard_activation(const LayerRequest& request);

}  // namespace plait::kernels::simd
