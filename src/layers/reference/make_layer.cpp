// Which file of this folder serves which layer spec.
#include "layers/reference/plain_layer.hpp"

namespace plait::layers::reference {

namespace {

struct Make {
  const LayerRequest& request;

  std::unique_ptr<Layer> operator()(const model::ConvolutionSpec&) const {
    return make_convolution(request);
  }
  std::unique_ptr<Layer> operator()(const model::LinearSpec&) const { return make_linear(request); }
  std::unique_ptr<Layer> operator()(const model::SparseLinearSpec&) const {
    return make_sparse_linear(request);
  }
  std::unique_ptr<Layer> operator()(const model::BatchNormSpec&) const {
    return make_batch_norm(request);
  }
  std::unique_ptr<Layer> operator()(const model::ActivationSpec&) const {
    return make_activation(request);
  }
  std::unique_ptr<Layer> operator()(const model::PoolSpec& pool) const {
    return pool.kind == model::PoolKind::max ? make_max_pool(request) : make_average_pool(request);
  }
  std::unique_ptr<Layer> operator()(const model::GlobalAveragePoolSpec&) const {
    return make_global_average_pool(request);
  }
  std::unique_ptr<Layer> operator()(const model::DropoutSpec&) const {
    return make_dropout(request);
  }
  std::unique_ptr<Layer> operator()(const model::FlattenSpec&) const {
    return make_flatten(request);
  }
  std::unique_ptr<Layer> operator()(const model::AddSpec&) const { return make_add(request); }
  std::unique_ptr<Layer> operator()(const model::ConcatSpec&) const { return make_concat(request); }
};

}  // namespace

std::unique_ptr<Layer> make_layer(const LayerRequest& request) {
  return std::visit(Make{request}, request.spec);
}

}  // namespace plait::layers::reference
