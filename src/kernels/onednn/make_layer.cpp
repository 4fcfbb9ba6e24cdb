// Which fast layer computes each kind of LayerSpec: oneDNN's, Winograd's, our own SIMD or the
// sparse kernels.
#include "kernels/convolution_1d.hpp"
#include "kernels/onednn/layers.hpp"
#include "kernels/simd/batch_norm_layer.hpp"
#include "kernels/simd/clip.hpp"
#include "kernels/simd/hard_activation.hpp"
#include "kernels/simd/max_pool.hpp"
#include "kernels/sparse/layers.hpp"
#include "kernels/transposed_convolution.hpp"

namespace plait::kernels::onednn {

namespace {

struct Make {
  const LayerRequest& request;

  using Result = std::unique_ptr<Layer>;
  Result operator()(const ops::Convolution&) const { return make_convolution(request); }
  Result operator()(const ops::TransposedConvolution&) const {
    return make_transposed_convolution(request, Backend::onednn);
  }
  Result operator()(const ops::Convolution1d&) const {
    return make_convolution_1d(request, Backend::onednn);
  }
  Result operator()(const ops::Linear&) const { return make_linear(request); }
  Result operator()(const ops::SparseLinear&) const { return sparse::make_linear(request); }
  Result operator()(const ops::BatchNorm&) const { return simd::make_batch_norm(request); }
  Result operator()(const ops::Activation& activation) const {
    switch (activation.kind) {
      case ops::ActivationKind::clip: return simd::make_clip(request);
      case ops::ActivationKind::hard_sigmoid:
      case ops::ActivationKind::hard_swish: return simd::make_hard_activation(request);
      default: return make_activation(request);
    }
  }
  Result operator()(const ops::Pool&) const {
    Result ours = simd::make_max_pool(request);
    return ours != nullptr ? std::move(ours) : make_pool(request);
  }
  Result operator()(const ops::GlobalAveragePool&) const { return make_pool(request); }
  Result operator()(const ops::Dropout&) const { return make_dropout(request); }
  Result operator()(const ops::Flatten&) const { return make_flatten(request); }
  Result operator()(const ops::Add&) const { return make_add(request); }
  Result operator()(const ops::Subtract&) const { return make_subtract(request); }
  Result operator()(const ops::Concat&) const { return make_concat(request); }
  template <class PlainOnly>
  Result operator()(const PlainOnly&) const {
    static_assert(
        requires { PlainOnly::kPlainOnly; }, "which kernel computes it?");
    return reference::make_layer(request);
  }
};

}  // namespace

std::unique_ptr<Layer> make_layer(const LayerRequest& request) {
  if (request.convert_to) {
    const bool panels = request.srcs[0].layout == tensor::Layout::panels ||
                        *request.convert_to == tensor::Layout::panels;
    return panels ? sparse::make_conversion(request) : make_conversion(request);
  }
  return std::visit(Make{request}, request.spec);
}

}  // namespace plait::kernels::onednn
