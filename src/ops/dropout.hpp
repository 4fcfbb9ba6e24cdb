// Dropout: in training some elements become 0; nothing in evaluation.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/shape.hpp"

namespace plait::ops {

struct OperationInfo;

/// Keeps with probability 1 - p and scales by 1 / (1 - p) in training; identity in evaluation.
struct Dropout {
  double probability = 0.5;
  bool operator==(const Dropout&) const = default;

  std::string_view name() const { return "dropout"; }
  std::string text() const;
  tensor::Shape result(std::span<const tensor::Shape> srcs, const std::string& where) const;
  static std::vector<OperationInfo> describe();
};

}  // namespace plait::ops
