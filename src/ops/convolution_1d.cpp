// A convolution of sequences: that of images with one row.
#include "ops/convolution_1d.hpp"

#include "base/error.hpp"
#include "ops/table.hpp"
#include "ops/window.hpp"

namespace plait::ops {

std::string Convolution1d::text() const {
  std::string text = fmt::format("conv{} {}", kernel, out_channels);
  if (stride != 1) text += fmt::format("/{}", stride);
  return text;
}

void Convolution1d::check(const std::string& where) const { flat().check(where); }

Convolution Convolution1d::flat() const {
  return {.out_channels = out_channels,
          .kernel = {1, kernel},
          .stride = {1, stride},
          .padding = {0, padding},
          .dilation = {1, dilation},
          .groups = groups,
          .bias = bias};
}

tensor::Shape Convolution1d::result(std::span<const tensor::Shape> srcs,
                                    const std::string& where) const {
  if (srcs[0].rank() != 2) {
    user_error("{}: {} needs a sequence CxL but its input is {}", where, name(), srcs[0]);
  }
  const tensor::Shape image{srcs[0][0], 1, srcs[0][1]};
  const tensor::Shape dst = flat().result({&image, 1}, where);
  return {dst[0], dst[2]};
}

std::vector<ParameterSpec> Convolution1d::parameters(const tensor::Shape& src) const {
  std::vector<ParameterSpec> list = flat().parameters({src[0], 1, src[1]});
  list[0].shape = {out_channels, src[0] / groups, kernel};
  return list;
}

std::vector<std::int64_t> Convolution1d::weight_extents(const tensor::Shape& src) const {
  return {out_channels, src[0] / groups, kernel};
}

std::int64_t Convolution1d::macs(const tensor::Shape& src, const tensor::Shape& dst) const {
  return dst.elements() * (src[0] / groups) * kernel;
}

std::vector<OperationInfo> Convolution1d::describe() {
  using C = Convolution1d;
  return {{.name = "convolution_1d",
           .short_name = "conv",
           .torch = "Conv1d",
           .usual = C{},
           .fields = {
               field(&C::out_channels,
                     {.key = "out", .least = 1, .most = kMaxChannels, .required = true}),
               field(&C::kernel, {.key = "kernel", .least = 1, .most = kMaxWindow, .always = true}),
               field(&C::stride, {.key = "stride", .least = 1, .most = kMaxWindow}),
               field(&C::padding, {.key = "padding", .most = kMaxWindow}),
               field(&C::dilation, {.key = "dilation", .least = 1, .most = kMaxWindow}),
               field(&C::groups, {.key = "groups", .least = 1, .most = kMaxChannels}),
               field(&C::bias, {.key = "bias"}),
           }}};
}

}  // namespace plait::ops
