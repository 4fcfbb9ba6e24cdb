// Descriptors, parameters and traits that every plain-loop layer has.
#include "kernels/reference/plain_layer.hpp"

#include "base/error.hpp"
#include "graph/shapes.hpp"

namespace plait::kernels::reference {

PlainLayer::PlainLayer(const LayerRequest& request) : threads_(request.threads) {
  std::vector<tensor::Shape> samples;
  const tensor::DType wanted =
      ops::id_limit(request.spec) > 0 ? tensor::DType::i32 : tensor::DType::f32;
  for (const tensor::TensorDesc& src : request.srcs) {
    if (src.layout != tensor::Layout::plain || src.dtype != wanted) {
      fail("layer '{}': the reference {} takes plain {} sources but got {} {}", request.name,
           ops::name_of(request.spec), tensor::name_of(wanted), tensor::name_of(src.layout),
           tensor::name_of(src.dtype));
    }
    samples.push_back(src.shape.without_front());
  }
  const bool adds = std::holds_alternative<ops::Convolution>(request.spec) ||
                    std::holds_alternative<ops::SparseLinear>(request.spec);
  if (request.residual && (!adds || request.srcs.size() != 2)) {
    fail(
        "layer '{}': only a convolution or sparse linear of two sources adds a residual, not {} of "
        "{}",
        request.name, ops::name_of(request.spec), request.srcs.size());
  }
  if (request.relu && !std::holds_alternative<ops::BatchNorm>(request.spec)) {
    fail("layer '{}': only batch_norm ends in a fused relu, not {}", request.name,
         ops::name_of(request.spec));
  }
  const tensor::Shape skip = request.residual ? samples.back() : tensor::Shape{};
  if (request.residual) samples.pop_back();
  const tensor::Shape dst =
      ops::result_shape(request.spec, samples, fmt::format("layer '{}'", request.name));
  if (request.residual && !(skip == dst)) {
    fail("layer '{}': a residual of {} cannot be added to {}", request.name, skip, dst);
  }
  src_ = request.srcs.front();
  dst_ = batch_desc(dst, src_.shape[0]);
  place_parameters(ops::parameters_of(request.spec, samples.front()));
}

}  // namespace plait::kernels::reference
