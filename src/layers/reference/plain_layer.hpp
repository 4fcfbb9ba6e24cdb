// What all plain-loop layers share: one source desc, one destination desc, both plain. And the door
// of each file of this folder. Internal: others call reference::make_layer().
#pragma once

#include <memory>

#include "layers/layer.hpp"

namespace plait::layers::reference {

class PlainLayer : public Layer {
 public:
  /// Infers dst; Failure where the request has a layout or a source count this folder does not
  /// serve.
  explicit PlainLayer(const LayerRequest& request);
  const tensor::TensorDesc& dst_desc() const override { return dst_; }

 protected:
  tensor::TensorDesc src_;
  tensor::TensorDesc dst_;
};

std::unique_ptr<Layer> make_convolution(const LayerRequest& request);
std::unique_ptr<Layer> make_linear(const LayerRequest& request);
std::unique_ptr<Layer> make_sparse_linear(const LayerRequest& request);
std::unique_ptr<Layer> make_batch_norm(const LayerRequest& request);
std::unique_ptr<Layer> make_activation(const LayerRequest& request);
std::unique_ptr<Layer> make_max_pool(const LayerRequest& request);
std::unique_ptr<Layer> make_average_pool(const LayerRequest& request);
std::unique_ptr<Layer> make_global_average_pool(const LayerRequest& request);
std::unique_ptr<Layer> make_dropout(const LayerRequest& request);
std::unique_ptr<Layer> make_flatten(const LayerRequest& request);
std::unique_ptr<Layer> make_add(const LayerRequest& request);
std::unique_ptr<Layer> make_concat(const LayerRequest& request);

}  // namespace plait::layers::reference
