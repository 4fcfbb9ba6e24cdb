// hard_sigmoid and hard_swish: piecewise polynomials of each element.
#pragma once

#include "layers/layer.hpp"

namespace plait::layers::simd {

std::unique_ptr<Layer> make_hard_activation(const LayerRequest& request);

}  // namespace plait::layers::simd
