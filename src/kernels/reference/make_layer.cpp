// Which file of this folder serves which operation.
#include "kernels/reference/plain_layer.hpp"

namespace plait::kernels::reference {

std::unique_ptr<Layer> make(const ops::Pool& pool, const LayerRequest& request) {
  return pool.kind == ops::PoolKind::max ? make_max_pool(request) : make_average_pool(request);
}

std::unique_ptr<Layer> make_layer(const LayerRequest& request) {
  return std::visit([&](const auto& operation) { return make(operation, request); }, request.spec);
}

}  // namespace plait::kernels::reference
