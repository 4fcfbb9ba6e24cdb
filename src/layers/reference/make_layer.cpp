// Which file of this folder serves which layer spec.
#include "layers/reference/plain_layer.hpp"

namespace plait::reference {

namespace {

struct Make {
  const LayerRequest& request;

  std::unique_ptr<Layer> operator()(const ConvolutionSpec&) const {
    return make_convolution(request);
  }
  std::unique_ptr<Layer> operator()(const LinearSpec&) const { return make_linear(request); }
  std::unique_ptr<Layer> operator()(const SparseLinearSpec&) const {
    return make_sparse_linear(request);
  }
  std::unique_ptr<Layer> operator()(const BatchNormSpec&) const { return make_batch_norm(request); }
  std::unique_ptr<Layer> operator()(const ActivationSpec&) const {
    return make_activation(request);
  }
  std::unique_ptr<Layer> operator()(const PoolSpec& pool) const {
    return pool.kind == PoolKind::max ? make_max_pool(request) : make_average_pool(request);
  }
  std::unique_ptr<Layer> operator()(const GlobalAveragePoolSpec&) const {
    return make_global_average_pool(request);
  }
  std::unique_ptr<Layer> operator()(const DropoutSpec&) const { return make_dropout(request); }
  std::unique_ptr<Layer> operator()(const FlattenSpec&) const { return make_flatten(request); }
  std::unique_ptr<Layer> operator()(const AddSpec&) const { return make_add(request); }
};

}  // namespace

std::unique_ptr<Layer> make_layer(const LayerRequest& request) {
  return std::visit(Make{request}, request.spec);
}

}  // namespace plait::reference
