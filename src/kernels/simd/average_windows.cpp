// The Highway kernel for average windows in plain and channel-blocked layouts, and its division
// between threads.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/simd/average_windows.cpp"
#include <hwy/foreach_target.h>
// after foreach_target, by Highway's rule
#include <hwy/highway.h>
#include <omp.h>

#include <algorithm>

#include "base/rounding.hpp"
#include "kernels/simd/average_windows.hpp"

HWY_BEFORE_NAMESPACE();
namespace plait::kernels::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Tag = hn::CappedTag<float, 8>;
using Vec = hn::Vec<Tag>;

/// Each sums 8 values at most before it is added to the total.
constexpr int kSums = 8;
constexpr std::int64_t kChunk = 8 * kSums;

/// totals[lane] += the sum of `count` vectors that lie `step` floats apart.
HWY_INLINE void add_run(const float* x, std::int64_t count, std::int64_t step, double* totals) {
  const Tag d;
  while (count > 0) {
    const std::int64_t chunk = std::min(count, kChunk);
    Vec sum[kSums];
    for (int k = 0; k < kSums; ++k) sum[k] = hn::Zero(d);
    std::int64_t i = 0;
    for (; i + kSums <= chunk; i += kSums) {
      for (int k = 0; k < kSums; ++k) sum[k] = hn::Add(sum[k], hn::LoadU(d, x + (i + k) * step));
    }
    for (int k = 0; i < chunk; ++i, ++k) sum[k] = hn::Add(sum[k], hn::LoadU(d, x + i * step));
    for (int half = kSums / 2; half > 0; half /= 2) {
      for (int k = 0; k < half; ++k) sum[k] = hn::Add(sum[k], sum[k + half]);
    }
    HWY_ALIGN float lanes[8];
    hn::Store(sum[0], d, lanes);
    for (std::size_t lane = 0; lane < hn::Lanes(d); ++lane) totals[lane] += double{lanes[lane]};
    x += chunk * step;
    count -= chunk;
  }
}

/// The part of a window inside the image as runs of pixels: one where it is as wide as the image.
template <class Body>
HWY_INLINE void for_runs(const AveragePass& pass, std::int64_t oh, std::int64_t ow,
                         const Body& body) {
  const std::int64_t row0 = oh * pass.pool.stride.height - pass.pool.padding.height;
  const std::int64_t column0 = ow * pass.pool.stride.width - pass.pool.padding.width;
  const std::int64_t top = std::max<std::int64_t>(row0, 0);
  const std::int64_t bottom = std::min(row0 + pass.pool.kernel.height, pass.src_height);
  const std::int64_t left = std::max<std::int64_t>(column0, 0);
  const std::int64_t right = std::min(column0 + pass.pool.kernel.width, pass.src_width);
  if (left == 0 && right == pass.src_width) {
    if (top < bottom) body(top * pass.src_width, (bottom - top) * pass.src_width);
    return;
  }
  for (std::int64_t row = top; row < bottom; ++row) {
    if (left < right) body(row * pass.src_width + left, right - left);
  }
}

void blocked_window(const AveragePass& pass, std::int64_t plane, std::int64_t oh, std::int64_t ow) {
  const auto vector = static_cast<std::int64_t>(hn::Lanes(Tag()));
  const float* src = pass.src + plane * pass.src_height * pass.src_width * pass.block;
  float* dst = pass.dst + ((plane * pass.dst_height + oh) * pass.dst_width + ow) * pass.block;
  const auto size = static_cast<double>(pass.pool.kernel.height * pass.pool.kernel.width);
  for (std::int64_t lane = 0; lane < pass.block; lane += vector) {
    double totals[8] = {};
    for_runs(pass, oh, ow, [&](std::int64_t pixel, std::int64_t count) HWY_ATTR {
      add_run(src + pixel * pass.block + lane, count, pass.block, totals);
    });
    for (std::int64_t i = 0; i < vector; ++i) dst[lane + i] = static_cast<float>(totals[i] / size);
  }
}

void plain_window(const AveragePass& pass, std::int64_t plane, std::int64_t oh, std::int64_t ow) {
  const auto vector = static_cast<std::int64_t>(hn::Lanes(Tag()));
  const float* src = pass.src + plane * pass.src_height * pass.src_width;
  double totals[8] = {};
  for_runs(pass, oh, ow, [&](std::int64_t pixel, std::int64_t count) HWY_ATTR {
    const std::int64_t vectors = count / vector;
    add_run(src + pixel, vectors, vector, totals);
    for (std::int64_t i = vectors * vector; i < count; ++i) totals[0] += double{src[pixel + i]};
  });
  double total = 0;
  for (const double part : totals) total += part;
  const auto size = static_cast<double>(pass.pool.kernel.height * pass.pool.kernel.width);
  pass.dst[(plane * pass.dst_height + oh) * pass.dst_width + ow] = static_cast<float>(total / size);
}

void windows(const AveragePass& pass) {
  for (std::int64_t plane = pass.begin; plane < pass.end; ++plane) {
    for (std::int64_t oh = 0; oh < pass.dst_height; ++oh) {
      for (std::int64_t ow = 0; ow < pass.dst_width; ++ow) {
        pass.block == 1 ? plain_window(pass, plane, oh, ow) : blocked_window(pass, plane, oh, ow);
      }
    }
  }
}

}  // namespace plait::kernels::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace plait::kernels::simd {

HWY_EXPORT(windows);

AveragePass average_pass(const ops::Pool& pool, const tensor::TensorDesc& src,
                         const tensor::TensorDesc& dst) {
  const std::int64_t block = tensor::channel_block(src.layout);
  return {.pool = pool,
          .src_height = src.shape[2],
          .src_width = src.shape[3],
          .dst_height = dst.shape[2],
          .dst_width = dst.shape[3],
          .block = block,
          .end = src.shape[0] * divide_up(src.shape[1], block)};
}

void average_windows(const AveragePass& whole, const float* src, float* dst, int threads) {
#pragma omp parallel num_threads(threads)
  {
    AveragePass pass = whole;
    pass.src = src;
    pass.dst = dst;
    pass.begin = whole.end * omp_get_thread_num() / omp_get_num_threads();
    pass.end = whole.end * (omp_get_thread_num() + 1) / omp_get_num_threads();
    HWY_DYNAMIC_DISPATCH(windows)(pass);
  }
}

}  // namespace plait::kernels::simd
#endif
