// A convolution of sequences on the kernels for images with one row.
#pragma once

#include "kernels/layer.hpp"

namespace plait::kernels {

std::unique_ptr<Layer> make_convolution_1d(const LayerRequest& request, Backend backend);

}  // namespace plait::kernels
