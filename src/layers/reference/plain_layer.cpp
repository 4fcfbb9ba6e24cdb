// Descriptors, parameters and traits that every plain-loop layer has.
#include "layers/reference/plain_layer.hpp"

#include "base/error.hpp"
#include "model/shapes.hpp"

namespace plait::reference {

PlainLayer::PlainLayer(const LayerRequest& request) {
  std::vector<Shape> samples;
  for (const TensorDesc& src : request.srcs) {
    if (src.layout != Layout::plain || src.dtype != DType::f32) {
      fail("layer '{}': the reference {} takes plain f32 sources but got {} {}", request.name,
           kind_name(request.spec), name_of(src.layout), name_of(src.dtype));
    }
    samples.push_back(src.shape.without_front());
  }
  const bool convolution = std::holds_alternative<ConvolutionSpec>(request.spec);
  if (request.residual && (!convolution || request.srcs.size() != 2)) {
    fail("layer '{}': only a convolution of two sources adds a residual, not {} of {}",
         request.name, kind_name(request.spec), request.srcs.size());
  }
  if (request.relu && !std::holds_alternative<BatchNormSpec>(request.spec)) {
    fail("layer '{}': only batch_norm ends in a fused relu, not {}", request.name,
         kind_name(request.spec));
  }
  const Shape skip = request.residual ? samples.back() : Shape{};
  if (request.residual) samples.pop_back();
  const Shape dst = layer_shape(request.spec, samples, fmt::format("layer '{}'", request.name));
  if (request.residual && !(skip == dst)) {
    fail("layer '{}': a residual of {} cannot be added to {}", request.name, skip, dst);
  }
  src_ = request.srcs.front();
  dst_ = batch_desc(dst, src_.shape[0]);
  place_parameters(layer_parameters(request.spec, samples.front()));
}

}  // namespace plait::reference
