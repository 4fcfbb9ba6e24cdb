// Shapes, parameters and multiply-adds of a linear layer.
#include "ops/linear.hpp"

#include "base/error.hpp"
#include "ops/table.hpp"
#include "ops/window.hpp"

namespace plait::ops {

std::string Linear::text() const { return fmt::format("linear {}", out_features); }

void Linear::check(const std::string& where) const { check_channels(out_features, where); }

tensor::Shape Linear::result(std::span<const tensor::Shape> srcs, const std::string& where) const {
  if (srcs[0].rank() != 2) require_features(srcs[0], "linear", where);
  if (out_features < 1) user_error("{}: linear needs positive out_features", where);
  tensor::Shape dst = srcs[0];
  dst[dst.rank() - 1] = out_features;
  return dst;
}

namespace {
std::int64_t features_of(const tensor::Shape& src) { return src[src.rank() - 1]; }
}  // namespace

std::vector<ParameterSpec> Linear::parameters(const tensor::Shape& src) const {
  const std::int64_t in = features_of(src);
  std::vector<ParameterSpec> list{{.name = "weight",
                                   .shape = {out_features, in},
                                   .init = Init::fan_in_uniform,
                                   .fan_in = in,
                                   .scale = initial_scale}};
  if (bias) {
    list.push_back(
        {.name = "bias", .shape = {out_features}, .init = Init::fan_in_uniform, .fan_in = in});
  }
  return list;
}

std::vector<std::int64_t> Linear::weight_extents(const tensor::Shape& src) const {
  return {out_features, features_of(src)};
}

std::int64_t Linear::macs(const tensor::Shape& src, const tensor::Shape& dst) const {
  return dst.elements() * features_of(src);
}

std::vector<OperationInfo> Linear::describe() {
  return {{.name = "linear",
           .onnx = "Gemm",
           .onnx_constants = {{"transB", 1}},
           .torch = "Linear",
           .usual = Linear{},
           .fields = {
               field(&Linear::out_features,
                     {.key = "out", .least = 1, .most = kMaxChannels, .required = true}),
               field(&Linear::bias, {.key = "bias"}),
               field(&Linear::initial_scale,
                     {.key = "initial_scale", .least = -kLarge, .most = kLarge}),
           }}};
}

}  // namespace plait::ops
