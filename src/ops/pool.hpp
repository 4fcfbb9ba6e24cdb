// Pool: the largest or the mean of a sliding window.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ops/extent.hpp"
#include "tensor/shape.hpp"

namespace plait::ops {

struct OperationInfo;

enum class PoolKind { max, average };

/// As in PyTorch, which counts the padding by default.
struct Pool {
  PoolKind kind = PoolKind::max;
  Extent2 kernel{2, 2};
  Extent2 stride{2, 2};
  Extent2 padding{0, 0};
  /// The last window may reach beyond the padding, if it starts in the image or before it. Average
  /// pooling never counts what lies beyond the padding.
  bool ceil_mode = false;
  bool count_include_pad = true;  ///< average: divide by the window with its padding
  bool operator==(const Pool&) const = default;

  std::string_view name() const { return kind == PoolKind::max ? "max_pool" : "average_pool"; }
  std::string text() const;
  void check(const std::string& where) const;
  tensor::Shape result(std::span<const tensor::Shape> srcs, const std::string& where) const;
  static std::vector<OperationInfo> describe();
};

}  // namespace plait::ops
