// Concat: two or more tensors one behind the other, by channels.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ops/inputs.hpp"
#include "tensor/shape.hpp"

namespace plait::ops {

struct OperationInfo;

/// C1xHxW and C2xHxW -> (C1 + C2)xHxW, or flat features.
struct Concat {
  static constexpr Inputs kInputs{2, kAnyNumber};
  bool operator==(const Concat&) const = default;

  std::string_view name() const { return "concat"; }
  tensor::Shape result(std::span<const tensor::Shape> srcs, const std::string& where) const;
  static std::vector<OperationInfo> describe();
};

}  // namespace plait::ops
