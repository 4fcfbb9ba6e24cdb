// The passes of BatchNorm (with optional ReLU) over channel-blocked activations [N][C/B][HW][B]:
// two reads and one write forward, two passes backward, ReLU's mask recomputed instead of stored.
// Formulas only; statistics, weights and memory are the caller's.
#pragma once

#include <cstdint>

namespace plait::kernels::simd {

/// A blocked activation: `block` channels innermost (8 or 16), `channel_blocks` of them per sample.
struct BlockedShape {
  std::int64_t samples = 0;
  std::int64_t channel_blocks = 0;
  std::int64_t pixels = 0;
  std::int64_t block = 8;
};

/// Planes [begin, end) of a tensor, plane = one channel block of one sample, samples outermost.
/// Arrays with one entry per channel have channel_blocks * block entries.
struct BatchNormPass {
  BlockedShape shape;
  std::int64_t begin = 0;
  std::int64_t end = 0;
  bool relu = false;
  const float* x = nullptr;
  float* y = nullptr;
  const float* diff_y = nullptr;
  const float* addend = nullptr;
  float* diff_x = nullptr;
  const float* scale = nullptr;  ///< y = relu(scale x + shift)
  const float* shift = nullptr;
  const float* center = nullptr;  ///< sums are taken of x - center
  const float* slope = nullptr;   ///< diff_x = scale g + slope x + level (+ addend)
  const float* level = nullptr;
  double* sum_a = nullptr;  ///< accumulated into
  double* sum_b = nullptr;
};

/// sum_a += sum (x - center), sum_b += sum (x - center)^2, per channel.
void batch_norm_sums(const BatchNormPass& pass);
/// y = relu(scale x + shift).
void batch_norm_apply(const BatchNormPass& pass);
/// With g = diff_y where relu let it through: sum_a += sum g, sum_b += sum g (x - center).
void batch_norm_diff_sums(const BatchNormPass& pass);
/// diff_x = scale g + slope x + level (+ addend). diff_x may be diff_y or addend.
void batch_norm_diff_apply(const BatchNormPass& pass);

}  // namespace plait::kernels::simd
