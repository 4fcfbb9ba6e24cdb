// Convolution: of images, with groups, strides, padding and dilation.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ops/extent.hpp"
#include "ops/parameter.hpp"

namespace plait::ops {

struct OperationInfo;

struct Convolution {
  std::int64_t out_channels = 0;
  Extent2 kernel{3, 3};
  Extent2 stride{1, 1};
  Extent2 padding{0, 0};
  Extent2 dilation{1, 1};
  std::int64_t groups = 1;
  bool bias = true;
  double initial_scale = 1;  ///< of the random weights
  bool operator==(const Convolution&) const = default;

  std::string_view name() const { return "convolution"; }
  std::string text() const;
  void check(const std::string& where) const;
  tensor::Shape result(std::span<const tensor::Shape> srcs, const std::string& where) const;
  std::vector<ParameterSpec> parameters(const tensor::Shape& src) const;
  std::vector<std::int64_t> weight_extents(const tensor::Shape& src) const;
  std::int64_t macs(const tensor::Shape& src, const tensor::Shape& dst) const;
  static std::vector<OperationInfo> describe();
};

}  // namespace plait::ops
