// LayerNorm: normalisation of each sample over its last dimensions.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ops/inputs.hpp"
#include "ops/parameter.hpp"

namespace plait::ops {

struct OperationInfo;

/// As in PyTorch, with the biased variance; weight and bias have the shape of the last dimensions.
struct LayerNorm {
  static constexpr PlainOnly kPlainOnly{.reads_src = true, .weights_read_src = true};
  std::int64_t dims = 1;  ///< how many of the last ones
  double epsilon = 1e-5;
  bool affine = true;  ///< has weight and bias
  bool operator==(const LayerNorm&) const = default;

  std::string_view name() const { return "layer_norm"; }
  void check(const std::string& where) const;
  tensor::Shape result(std::span<const tensor::Shape> srcs, const std::string& where) const;
  std::vector<ParameterSpec> parameters(const tensor::Shape& src) const;
  static std::vector<OperationInfo> describe();
};

}  // namespace plait::ops
