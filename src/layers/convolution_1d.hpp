// A convolution of sequences on the kernels for images with one row.
#pragma once

#include "layers/layer.hpp"

namespace plait::layers {

std::unique_ptr<Layer> make_convolution_1d(const LayerRequest& request, Backend backend);

}  // namespace plait::layers
