// Shapes, parameters and multiply-adds of a transposed convolution.
#include "ops/transposed_convolution.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "ops/table.hpp"
#include "ops/window.hpp"

namespace plait::ops {

std::string TransposedConvolution::text() const {
  std::string text = fmt::format("convT{} {}", text_of(kernel), out_channels);
  if (stride != Extent2{1, 1}) text += fmt::format("*{}", std::max(stride.height, stride.width));
  return text;
}

void TransposedConvolution::check(const std::string& where) const {
  check_channels(out_channels, where);
  check_window(kernel, "kernel", where);
  check_window(stride, "stride", where);
  check_window(padding, "padding", where);
  check_window(output_padding, "output_padding", where);
}

tensor::Shape TransposedConvolution::result(std::span<const tensor::Shape> srcs,
                                            const std::string& where) const {
  const tensor::Shape& src = srcs[0];
  require_image(src, name(), where);
  const auto at_least = [](Extent2 e, std::int64_t n) { return e.height >= n && e.width >= n; };
  if (out_channels < 1 || !at_least(kernel, 1) || !at_least(stride, 1) || !at_least(padding, 0)) {
    user_error("{}: {} needs positive channels, kernel and stride", where, name());
  }
  if (!at_least(output_padding, 0) || output_padding.height >= stride.height ||
      output_padding.width >= stride.width) {
    user_error("{}: output_padding {} is not below the stride {}", where, text_of(output_padding),
               text_of(stride));
  }
  if (groups < 1 || src[0] % groups != 0 || out_channels % groups != 0) {
    user_error("{}: {} groups do not divide the channels {} -> {}", where, groups, src[0],
               out_channels);
  }
  const tensor::Shape dst{
      out_channels,
      (src[1] - 1) * stride.height - 2 * padding.height + kernel.height + output_padding.height,
      (src[2] - 1) * stride.width - 2 * padding.width + kernel.width + output_padding.width};
  if (dst[1] < 1 || dst[2] < 1) {
    user_error("{}: padding {} leaves nothing of a result for {}", where, text_of(padding), src);
  }
  return dst;
}

/// A pixel of the result is a sum over about in / groups x kh / sh x kw / sw.
std::vector<ParameterSpec> TransposedConvolution::parameters(const tensor::Shape& src) const {
  const std::int64_t fan_in = std::max<std::int64_t>(
      1, src[0] / groups * kernel.height * kernel.width / (stride.height * stride.width));
  std::vector<ParameterSpec> list{
      {.name = "weight",
       .shape = {src[0], out_channels / groups, kernel.height, kernel.width},
       .init = Init::he_normal,
       .fan_in = fan_in}};
  if (bias) list.push_back({.name = "bias", .shape = {out_channels}, .fan_in = fan_in});
  return list;
}

std::vector<std::int64_t> TransposedConvolution::weight_extents(const tensor::Shape& src) const {
  return {out_channels, src[0] / groups, kernel.height, kernel.width};
}

/// Every src element is multiplied by (out / groups) x kh x kw weights.
std::int64_t TransposedConvolution::macs(const tensor::Shape& src, const tensor::Shape&) const {
  return src.elements() * (out_channels / groups) * kernel.height * kernel.width;
}

Convolution TransposedConvolution::transposed(std::int64_t in_channels) const {
  return {.out_channels = in_channels,
          .kernel = kernel,
          .stride = stride,
          .padding = padding,
          .groups = groups,
          .bias = false};
}

std::vector<OperationInfo> TransposedConvolution::describe() {
  using T = TransposedConvolution;
  return {
      {.name = "transposed_convolution",
       .short_name = "up",
       .onnx = "ConvTranspose",
       .torch = "ConvTranspose2d",
       .usual = T{},
       .fields = {
           field(&T::out_channels,
                 {.key = "out", .least = 1, .most = kMaxChannels, .required = true}),
           field(&T::kernel, {.key = "kernel",
                              .least = 1,
                              .most = kMaxWindow,
                              .onnx = "kernel_shape",
                              .always = true}),
           field(&T::stride, {.key = "stride", .least = 1, .most = kMaxWindow, .onnx = "strides"}),
           field(&T::padding, {.key = "padding", .most = kMaxWindow, .onnx = "pads"}),
           field(&T::output_padding,
                 {.key = "output_padding", .most = kMaxWindow, .onnx = "output_padding"}),
           field(&T::groups, {.key = "groups", .least = 1, .most = kMaxChannels, .onnx = "group"}),
           field(&T::bias, {.key = "bias"}),
       }}};
}

}  // namespace plait::ops
