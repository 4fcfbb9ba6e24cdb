// Flatten: C x H x W -> features, in C, H, W order.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/shape.hpp"

namespace plait::ops {

struct OperationInfo;

struct Flatten {
  bool operator==(const Flatten&) const = default;

  std::string_view name() const { return "flatten"; }
  tensor::Shape result(std::span<const tensor::Shape> srcs, const std::string& where) const;
  static std::vector<OperationInfo> describe();
};

}  // namespace plait::ops
