// TransposedConvolution: the gradient of a convolution as a layer; strides enlarge the image.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ops/convolution.hpp"

namespace plait::ops {

struct OperationInfo;

/// As PyTorch's ConvTranspose2d without dilation; weight is in x out / groups x kh x kw.
struct TransposedConvolution {
  std::int64_t out_channels = 0;
  Extent2 kernel{2, 2};
  Extent2 stride{1, 1};
  Extent2 padding{0, 0};
  Extent2 output_padding{0, 0};  ///< further rows and columns at the end; below the stride
  std::int64_t groups = 1;
  bool bias = true;
  bool operator==(const TransposedConvolution&) const = default;

  std::string_view name() const { return "transposed_convolution"; }
  std::string text() const;
  void check(const std::string& where) const;
  tensor::Shape result(std::span<const tensor::Shape> srcs, const std::string& where) const;
  std::vector<ParameterSpec> parameters(const tensor::Shape& src) const;
  std::vector<std::int64_t> weight_extents(const tensor::Shape& src) const;
  std::int64_t macs(const tensor::Shape& src, const tensor::Shape& dst) const;
  static std::vector<OperationInfo> describe();

  /// The convolution of the result whose gradient this is: it has the same weight and no bias.
  Convolution transposed(std::int64_t in_channels) const;
};

}  // namespace plait::ops
