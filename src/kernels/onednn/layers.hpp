// The layers of this room, one file each.
#pragma once

#include "kernels/layer.hpp"

namespace plait::kernels::onednn {

std::unique_ptr<Layer> make_convolution(const LayerRequest& request);
std::unique_ptr<Layer> make_linear(const LayerRequest& request);
std::unique_ptr<Layer> make_activation(const LayerRequest& request);
std::unique_ptr<Layer> make_pool(const LayerRequest& request);
std::unique_ptr<Layer> make_flatten(const LayerRequest& request);
/// Only changes the layout, to request.convert_to.
std::unique_ptr<Layer> make_conversion(const LayerRequest& request);
std::unique_ptr<Layer> make_add(const LayerRequest& request);
std::unique_ptr<Layer> make_subtract(const LayerRequest& request);
std::unique_ptr<Layer> make_concat(const LayerRequest& request);
std::unique_ptr<Layer> make_dropout(const LayerRequest& request);

}  // namespace plait::kernels::onednn
