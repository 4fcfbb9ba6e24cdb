// The arithmetic of sliding windows and the refusals that operations share.
#include "ops/window.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace plait::ops {

std::int64_t window_count(std::int64_t extent, std::int64_t kernel, std::int64_t stride,
                          std::int64_t padding) {
  return (extent + 2 * padding - kernel) / stride + 1;
}

std::int64_t window_count_ceil(std::int64_t extent, std::int64_t kernel, std::int64_t stride,
                               std::int64_t padding) {
  const std::int64_t count = (extent + 2 * padding - kernel + stride - 1) / stride + 1;
  return (count - 1) * stride >= extent + padding ? count - 1 : count;
}

void require_image(const tensor::Shape& src, std::string_view kind, const std::string& where) {
  if (src.rank() == 3) return;
  user_error("{}: {} needs an image CxHxW but its input is {}; put it before flatten", where, kind,
             src);
}

void require_features(const tensor::Shape& src, std::string_view kind, const std::string& where) {
  if (src.rank() == 1) return;
  user_error("{}: {} needs flat features but its input is {}; put a flatten in front", where, kind,
             src);
}

void check_window(Extent2 extent, std::string_view what, const std::string& where) {
  if (std::max(extent.height, extent.width) <= kMaxWindow) return;
  user_error("{}: {} {}x{} is too large (at most 2^20)", where, what, extent.height, extent.width);
}

void check_channels(std::int64_t number, const std::string& where) {
  if (number > kMaxChannels) {
    user_error("{}: {} channels are too many (at most 2^31)", where, number);
  }
}

std::string text_of(Extent2 extent) { return fmt::format("{}x{}", extent.height, extent.width); }

}  // namespace plait::ops
