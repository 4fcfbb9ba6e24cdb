// AdaptiveAveragePool: means of windows that cover an image with a given number of them.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ops/inputs.hpp"
#include "ops/pool.hpp"
#include "tensor/shape.hpp"

namespace plait::ops {

struct OperationInfo;

/// As in PyTorch: output i of n is the mean of inputs floor(i L / n) .. ceil((i + 1) L / n) - 1 of
/// L, along height and width.
struct AdaptiveAveragePool {
  static constexpr PlainOnly kPlainOnly{};
  Extent2 output{1, 1};
  bool operator==(const AdaptiveAveragePool&) const = default;

  std::string_view name() const { return "adaptive_average_pool"; }
  std::string text() const;
  void check(const std::string& where) const;
  tensor::Shape result(std::span<const tensor::Shape> srcs, const std::string& where) const;
  static std::vector<OperationInfo> describe();

  /// The average_pool that computes the same on this image; none where windows differ in size.
  std::optional<Pool> even_windows(const tensor::Shape& src) const;
};

}  // namespace plait::ops
