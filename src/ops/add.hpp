// Add: the sum of two tensors of one shape (the residual connection).
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ops/inputs.hpp"
#include "tensor/shape.hpp"

namespace plait::ops {

struct OperationInfo;

struct Add {
  static constexpr Inputs kInputs{2, 2};
  static constexpr Sum kSum{};
  bool operator==(const Add&) const = default;

  std::string_view name() const { return "add"; }
  tensor::Shape result(std::span<const tensor::Shape> srcs, const std::string& where) const;
  static std::vector<OperationInfo> describe();
};

}  // namespace plait::ops
