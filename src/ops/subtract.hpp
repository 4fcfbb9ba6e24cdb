// Subtract: the difference of two tensors of one shape.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ops/inputs.hpp"
#include "tensor/shape.hpp"

namespace plait::ops {

struct OperationInfo;

/// The second is subtracted from the first.
struct Subtract {
  static constexpr Inputs kInputs{2, 2};
  static constexpr Sum kSum{.subtracted = 1};
  bool operator==(const Subtract&) const = default;

  std::string_view name() const { return "subtract"; }
  tensor::Shape result(std::span<const tensor::Shape> srcs, const std::string& where) const;
  static std::vector<OperationInfo> describe();
};

}  // namespace plait::ops
