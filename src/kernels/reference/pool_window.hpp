// The pixels under one window of a pool, clipped to the image. Internal to the pools.
#pragma once

#include <algorithm>

#include "graph/spec.hpp"
#include "tensor/shape.hpp"

namespace plait::kernels::reference {

/// Half-open ranges of rows and columns of the source image.
struct PoolWindow {
  std::int64_t top, bottom, left, right;
};

inline PoolWindow pool_window(const ops::Pool& pool, const tensor::Shape& src, std::int64_t y,
                              std::int64_t x) {
  const std::int64_t top = y * pool.stride.height - pool.padding.height;
  const std::int64_t left = x * pool.stride.width - pool.padding.width;
  return {std::max<std::int64_t>(top, 0), std::min(top + pool.kernel.height, src[2]),
          std::max<std::int64_t>(left, 0), std::min(left + pool.kernel.width, src[3])};
}

/// What average pooling divides by: the window's extent up to the padding's end, or what of it lies
/// in the image.
inline double pool_divisor(const ops::Pool& pool, const tensor::Shape& src, std::int64_t y,
                           std::int64_t x) {
  if (!pool.count_include_pad) {
    const PoolWindow window = pool_window(pool, src, y, x);
    return static_cast<double>((window.bottom - window.top) * (window.right - window.left));
  }
  const std::int64_t top = y * pool.stride.height - pool.padding.height;
  const std::int64_t left = x * pool.stride.width - pool.padding.width;
  const std::int64_t height =
      std::min(top + pool.kernel.height, src[2] + pool.padding.height) - top;
  const std::int64_t width = std::min(left + pool.kernel.width, src[3] + pool.padding.width) - left;
  return static_cast<double>(height * width);
}

}  // namespace plait::kernels::reference
