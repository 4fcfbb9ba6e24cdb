// Multiply: two tensors of one shape, or an image and a factor for each of its channels.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ops/inputs.hpp"
#include "tensor/shape.hpp"

namespace plait::ops {

struct OperationInfo;

/// CxHxW and CxHxW, Cx1x1 or C -> CxHxW, and features with features; the larger comes first.
struct Multiply {
  static constexpr Inputs kInputs{2, 2};
  static constexpr PlainOnly kPlainOnly{.reads_src = true};
  bool operator==(const Multiply&) const = default;

  std::string_view name() const { return "multiply"; }
  tensor::Shape result(std::span<const tensor::Shape> srcs, const std::string& where) const;
  static std::vector<OperationInfo> describe();
};

}  // namespace plait::ops
