// ChannelShuffle: channels of several groups dealt out one by one, as between grouped convolutions.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ops/inputs.hpp"
#include "tensor/shape.hpp"

namespace plait::ops {

struct OperationInfo;

/// As in PyTorch: channel g C / groups + i becomes channel i groups + g.
struct ChannelShuffle {
  static constexpr PlainOnly kPlainOnly{};
  std::int64_t groups = 2;
  bool operator==(const ChannelShuffle&) const = default;

  std::string_view name() const { return "channel_shuffle"; }
  std::string text() const;
  tensor::Shape result(std::span<const tensor::Shape> srcs, const std::string& where) const;
  static std::vector<OperationInfo> describe();
};

}  // namespace plait::ops
