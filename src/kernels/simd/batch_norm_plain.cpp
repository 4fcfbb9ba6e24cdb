// The four passes of BatchNorm as plain loops with double sums.
#include "kernels/simd/batch_norm_plain.hpp"

namespace plait::kernels::simd {

namespace {

/// Calls body(element, channel) for every element of the pass's planes.
template <class Body>
void for_each(const BatchNormPass& pass, const Body& body) {
  for (std::int64_t plane = pass.begin; plane < pass.end; ++plane) {
    const std::int64_t channel = plane % pass.shape.channel_blocks;
    const std::int64_t first = plane * pass.shape.pixels;
    for (std::int64_t i = first; i < first + pass.shape.pixels; ++i) body(i, channel);
  }
}

float gated(const BatchNormPass& pass, std::int64_t i, std::int64_t c) {
  return !pass.relu || pass.x[i] * pass.scale[c] + pass.shift[c] > 0 ? pass.diff_y[i] : 0.0F;
}

}  // namespace

void batch_norm_sums_plain(const BatchNormPass& pass) {
  for_each(pass, [&](std::int64_t i, std::int64_t c) {
    const double v = double{pass.x[i]} - double{pass.center[c]};
    pass.sum_a[c] += v;
    pass.sum_b[c] += v * v;
  });
}

void batch_norm_apply_plain(const BatchNormPass& pass) {
  for_each(pass, [&](std::int64_t i, std::int64_t c) {
    const float v = pass.x[i] * pass.scale[c] + pass.shift[c];
    pass.y[i] = pass.relu && v < 0 ? 0.0F : v;
  });
}

void batch_norm_diff_sums_plain(const BatchNormPass& pass) {
  for_each(pass, [&](std::int64_t i, std::int64_t c) {
    const double g = gated(pass, i, c);
    pass.sum_a[c] += g;
    pass.sum_b[c] += g * (double{pass.x[i]} - double{pass.center[c]});
  });
}

void batch_norm_diff_apply_plain(const BatchNormPass& pass) {
  for_each(pass, [&](std::int64_t i, std::int64_t c) {
    const float value =
        gated(pass, i, c) * pass.scale[c] + (pass.x[i] * pass.slope[c] + pass.level[c]);
    pass.diff_x[i] = pass.addend == nullptr ? value : value + pass.addend[i];
  });
}

}  // namespace plait::kernels::simd
