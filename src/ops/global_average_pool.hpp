// GlobalAveragePool: the mean of every channel, C x H x W -> C x 1 x 1.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/shape.hpp"

namespace plait::ops {

struct OperationInfo;

struct GlobalAveragePool {
  bool operator==(const GlobalAveragePool&) const = default;

  std::string_view name() const { return "global_average_pool"; }
  tensor::Shape result(std::span<const tensor::Shape> srcs, const std::string& where) const;
  static std::vector<OperationInfo> describe();
};

}  // namespace plait::ops
