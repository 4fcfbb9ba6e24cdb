// A transposed convolution on the kernels of the convolution that it is the gradient of.
#pragma once

#include "layers/layer.hpp"

namespace plait::layers {

std::unique_ptr<Layer> make_transposed_convolution(const LayerRequest& request, Backend backend);

}  // namespace plait::layers
