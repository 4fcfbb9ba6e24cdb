// The two passes of max pooling over planes of channel-blocked activations.
#pragma once

#include <cstdint>

#include "graph/spec.hpp"

namespace plait::kernels::simd {

struct MaxPoolPass {
  ops::Pool pool;
  std::int64_t src_height = 0, src_width = 0;
  std::int64_t dst_height = 0, dst_width = 0;
  std::int64_t block = 8;
  /// Planes [begin, end), plane = one channel block of one sample.
  std::int64_t begin = 0, end = 0;
  const float* src = nullptr;
  float* dst = nullptr;
  std::uint8_t* places = nullptr;
  const float* diff_dst = nullptr;
  float* diff_src = nullptr;
};

/// dst = the window's largest, the first of equals, NaN if there is one; places = where it was.
void max_pool(const MaxPoolPass& pass);
/// diff_src = sum of diff_dst over the windows that chose the element.
void max_pool_diff(const MaxPoolPass& pass);

}  // namespace plait::kernels::simd
