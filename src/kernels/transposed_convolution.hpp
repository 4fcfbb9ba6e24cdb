// A transposed convolution on the kernels of the convolution that it is the gradient of.
#pragma once

#include "kernels/layer.hpp"

namespace plait::kernels {

std::unique_ptr<Layer> make_transposed_convolution(const LayerRequest& request, Backend backend);

}  // namespace plait::kernels
