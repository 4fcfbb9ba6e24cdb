// Upsample: a larger image, by repeating pixels or by blending the four around.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ops/extent.hpp"
#include "ops/inputs.hpp"
#include "tensor/shape.hpp"

namespace plait::ops {

struct OperationInfo;

enum class UpsampleKind { nearest, bilinear };

/// As PyTorch's Upsample with a whole scale_factor and align_corners = False.
struct Upsample {
  static constexpr PlainOnly kPlainOnly{};
  UpsampleKind kind = UpsampleKind::nearest;
  Extent2 scale{2, 2};
  bool operator==(const Upsample&) const = default;

  std::string_view name() const {
    return kind == UpsampleKind::nearest ? "upsample" : "upsample_bilinear";
  }
  std::string text() const;
  void check(const std::string& where) const;
  tensor::Shape result(std::span<const tensor::Shape> srcs, const std::string& where) const;
  static std::vector<OperationInfo> describe();
};

}  // namespace plait::ops
