// Slice: some consecutive channels of a tensor, or a run along another axis.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ops/inputs.hpp"
#include "tensor/shape.hpp"

namespace plait::ops {

struct OperationInfo;

/// start .. start + length - 1 along an axis of a sample: 0 are the channels of an image or of a
/// sequence, or features.
struct Slice {
  static constexpr PlainOnly kPlainOnly{.adds_gradient = true};
  std::int64_t start = 0;
  std::int64_t length = 1;
  std::int64_t axis = 0;
  bool operator==(const Slice&) const = default;

  std::string_view name() const { return "slice"; }
  std::string text() const;
  tensor::Shape result(std::span<const tensor::Shape> srcs, const std::string& where) const;
  static std::vector<OperationInfo> describe();
};

}  // namespace plait::ops
