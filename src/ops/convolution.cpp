// Shapes, parameters and multiply-adds of a convolution.
#include "ops/convolution.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "ops/table.hpp"
#include "ops/window.hpp"

namespace plait::ops {

std::string Convolution::text() const {
  std::string text = fmt::format("conv{} {}", text_of(kernel), out_channels);
  if (stride != Extent2{1, 1}) text += fmt::format("/{}", std::max(stride.height, stride.width));
  return text;
}

void Convolution::check(const std::string& where) const {
  check_channels(out_channels, where);
  check_window(kernel, "kernel", where);
  check_window(stride, "stride", where);
  check_window(padding, "padding", where);
  check_window(dilation, "dilation", where);
}

tensor::Shape Convolution::result(std::span<const tensor::Shape> srcs,
                                  const std::string& where) const {
  const tensor::Shape& src = srcs[0];
  require_image(src, "convolution", where);
  const auto at_least_one = [](Extent2 e) { return e.height >= 1 && e.width >= 1; };
  if (out_channels < 1 || !at_least_one(kernel) || !at_least_one(stride) ||
      !at_least_one(dilation) || padding.height < 0 || padding.width < 0) {
    user_error("{}: convolution needs positive channels, kernel, stride and dilation", where);
  }
  if (groups < 1 || src[0] % groups != 0 || out_channels % groups != 0) {
    user_error("{}: {} groups do not divide the channels {} -> {}", where, groups, src[0],
               out_channels);
  }
  const std::int64_t reach_h = (kernel.height - 1) * dilation.height + 1;
  const std::int64_t reach_w = (kernel.width - 1) * dilation.width + 1;
  if (src[1] + 2 * padding.height < reach_h || src[2] + 2 * padding.width < reach_w) {
    user_error("{}: a kernel that spans {}x{} does not fit its input {} with padding {}x{}", where,
               reach_h, reach_w, src, padding.height, padding.width);
  }
  return {out_channels, window_count(src[1], reach_h, stride.height, padding.height),
          window_count(src[2], reach_w, stride.width, padding.width)};
}

std::vector<ParameterSpec> Convolution::parameters(const tensor::Shape& src) const {
  const std::int64_t fan_in = src[0] / groups * kernel.height * kernel.width;
  std::vector<ParameterSpec> list{{.name = "weight",
                                   .shape = tensor::Shape(weight_extents(src)),
                                   .init = Init::he_normal,
                                   .fan_in = fan_in,
                                   .scale = initial_scale}};
  if (bias) list.push_back({.name = "bias", .shape = {out_channels}, .fan_in = fan_in});
  return list;
}

std::vector<std::int64_t> Convolution::weight_extents(const tensor::Shape& src) const {
  return {out_channels, src[0] / groups, kernel.height, kernel.width};
}

/// Every dst element is a dot product over (C / groups) x kh x kw.
std::int64_t Convolution::macs(const tensor::Shape& src, const tensor::Shape& dst) const {
  return dst.elements() * (src[0] / groups) * kernel.height * kernel.width;
}

std::vector<OperationInfo> Convolution::describe() {
  return {{.name = "convolution",
           .short_name = "conv",
           .onnx = "Conv",
           .torch = "Conv2d",
           .usual = Convolution{},
           .fields = {
               field(&Convolution::out_channels,
                     {.key = "out", .least = 1, .most = kMaxChannels, .required = true}),
               field(&Convolution::kernel, {.key = "kernel",
                                            .least = 1,
                                            .most = kMaxWindow,
                                            .onnx = "kernel_shape",
                                            .always = true}),
               field(&Convolution::stride,
                     {.key = "stride", .least = 1, .most = kMaxWindow, .onnx = "strides"}),
               field(&Convolution::padding, {.key = "padding", .most = kMaxWindow, .onnx = "pads"}),
               field(&Convolution::dilation,
                     {.key = "dilation", .least = 1, .most = kMaxWindow, .onnx = "dilations"}),
               field(&Convolution::groups,
                     {.key = "groups", .least = 1, .most = kMaxChannels, .onnx = "group"}),
               field(&Convolution::bias, {.key = "bias"}),
               field(&Convolution::initial_scale,
                     {.key = "initial_scale", .least = -kLarge, .most = kLarge}),
           }}};
}

}  // namespace plait::ops
