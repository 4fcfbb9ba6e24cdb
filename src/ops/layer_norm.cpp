// Parameters and limits of a layer normalisation.
#include "ops/layer_norm.hpp"

#include "base/error.hpp"
#include "ops/table.hpp"

namespace plait::ops {

void LayerNorm::check(const std::string& where) const {
  if (!(epsilon > 0 && epsilon <= 1)) {
    user_error("{}: layer_norm epsilon {} is not in (0, 1]", where, epsilon);
  }
}

tensor::Shape LayerNorm::result(std::span<const tensor::Shape> srcs,
                                const std::string& where) const {
  if (dims < 1 || dims > static_cast<std::int64_t>(srcs[0].rank())) {
    user_error("{}: layer_norm over the last {} dimensions of {}, which has {}", where, dims,
               srcs[0], srcs[0].rank());
  }
  return srcs[0];
}

std::vector<ParameterSpec> LayerNorm::parameters(const tensor::Shape& src) const {
  if (!affine) return {};
  const auto last = src.dims().last(static_cast<std::size_t>(dims));
  const tensor::Shape shape(std::vector<std::int64_t>(last.begin(), last.end()));
  return {{.name = "weight", .shape = shape, .value = 1}, {.name = "bias", .shape = shape}};
}

std::vector<OperationInfo> LayerNorm::describe() {
  return {{.name = "layer_norm",
           .short_name = "norm",
           .onnx = "LayerNormalization",
           .torch = "LayerNorm",
           .usual = LayerNorm{},
           .fields = {
               field(&LayerNorm::dims, {.key = "dims", .least = 1, .most = 8}),
               field(&LayerNorm::epsilon, {.key = "epsilon", .most = 1, .onnx = "epsilon"}),
               field(&LayerNorm::affine, {.key = "affine"}),
           }}};
}

}  // namespace plait::ops
