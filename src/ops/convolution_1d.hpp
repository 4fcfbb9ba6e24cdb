// Convolution1d: of sequences C x L.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ops/convolution.hpp"

namespace plait::ops {

struct OperationInfo;

/// As PyTorch's Conv1d; weight is out x in / groups x kernel.
struct Convolution1d {
  std::int64_t out_channels = 0;
  std::int64_t kernel = 3;
  std::int64_t stride = 1;
  std::int64_t padding = 0;
  std::int64_t dilation = 1;
  std::int64_t groups = 1;
  bool bias = true;
  bool operator==(const Convolution1d&) const = default;

  std::string_view name() const { return "convolution_1d"; }
  std::string text() const;
  void check(const std::string& where) const;
  tensor::Shape result(std::span<const tensor::Shape> srcs, const std::string& where) const;
  std::vector<ParameterSpec> parameters(const tensor::Shape& src) const;
  std::vector<std::int64_t> weight_extents(const tensor::Shape& src) const;
  std::int64_t macs(const tensor::Shape& src, const tensor::Shape& dst) const;
  static std::vector<OperationInfo> describe();

  /// The same on images of one row.
  Convolution flat() const;
};

}  // namespace plait::ops
