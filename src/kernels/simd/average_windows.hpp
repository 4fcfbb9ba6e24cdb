// Averages under large windows, forward only: partial sums of a few values each, added up in
// double. One long sum in fp32 would be off by 5e-4 for an image of 224 x 224 equal pixels.
#pragma once

#include <cstdint>

#include "graph/spec.hpp"
#include "tensor/tensor.hpp"

namespace plait::kernels::simd {

struct AveragePass {
  ops::Pool pool;
  std::int64_t src_height = 0, src_width = 0;
  std::int64_t dst_height = 0, dst_width = 0;
  std::int64_t block = 1;  ///< channels that lie together: 1, 8 or 16
  /// Planes [begin, end), plane = one channel block of one sample.
  std::int64_t begin = 0, end = 0;
  const float* src = nullptr;
  float* dst = nullptr;
};

/// Windows up to this many elements are summed by oneDNN, one after the other.
constexpr std::int64_t kSmallWindow = 64;

/// Without addresses and planes; `src` and `dst` lie alike.
AveragePass average_pass(const ops::Pool& pool, const tensor::TensorDesc& src,
                         const tensor::TensorDesc& dst);
/// dst = the sum under the window / the window's size, padding counted as zeros. No sum is divided
/// between threads: equal bits for any number of them.
void average_windows(const AveragePass& pass, const float* src, float* dst, int threads);

}  // namespace plait::kernels::simd
