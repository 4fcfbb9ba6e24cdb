// Height and width, and the limits of what files may say of operations.
#pragma once

#include <cstdint>

namespace plait::ops {

struct Extent2 {
  std::int64_t height = 1;
  std::int64_t width = 1;
  bool operator==(const Extent2&) const = default;
};

inline constexpr std::int64_t kMaxChannels = std::int64_t{1} << 31;
/// Of a kernel, stride, padding or dilation.
inline constexpr std::int64_t kMaxWindow = std::int64_t{1} << 20;

}  // namespace plait::ops
