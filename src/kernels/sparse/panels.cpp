// Transposes between plain activations and panels, in blocks of 4 x 4.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/sparse/panels.cpp"
#include <hwy/foreach_target.h>
// after foreach_target, by Highway's rule
#include <hwy/highway.h>

#include <algorithm>

#include "base/rounding.hpp"
#include "kernels/sparse/panels.hpp"
#include "tensor/tensor.hpp"

HWY_BEFORE_NAMESPACE();
namespace plait::kernels::sparse::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// to[j * to_stride + i] = from[i * from_stride + j] for i < height, j < width.
void transpose_edge(const float* from, std::int64_t from_stride, float* to, std::int64_t to_stride,
                    std::int64_t height, std::int64_t width) {
  for (std::int64_t i = 0; i < height; ++i) {
    for (std::int64_t j = 0; j < width; ++j) to[j * to_stride + i] = from[i * from_stride + j];
  }
}

#if HWY_TARGET == HWY_SCALAR

HWY_INLINE void transpose_4x4(const float* from, std::int64_t from_stride, float* to,
                              std::int64_t to_stride) {
  transpose_edge(from, from_stride, to, to_stride, 4, 4);
}

#else

HWY_INLINE void transpose_4x4(const float* from, std::int64_t from_stride, float* to,
                              std::int64_t to_stride) {
  const hn::FixedTag<float, 4> d;
  const hn::FixedTag<double, 2> pair;
  const auto a = hn::LoadU(d, from);
  const auto b = hn::LoadU(d, from + from_stride);
  const auto c = hn::LoadU(d, from + 2 * from_stride);
  const auto e = hn::LoadU(d, from + 3 * from_stride);
  const auto ab_low = hn::BitCast(pair, hn::InterleaveLower(d, a, b));
  const auto ab_high = hn::BitCast(pair, hn::InterleaveUpper(d, a, b));
  const auto ce_low = hn::BitCast(pair, hn::InterleaveLower(d, c, e));
  const auto ce_high = hn::BitCast(pair, hn::InterleaveUpper(d, c, e));
  hn::StoreU(hn::BitCast(d, hn::InterleaveLower(pair, ab_low, ce_low)), d, to);
  hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(pair, ab_low, ce_low)), d, to + to_stride);
  hn::StoreU(hn::BitCast(d, hn::InterleaveLower(pair, ab_high, ce_high)), d, to + 2 * to_stride);
  hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(pair, ab_high, ce_high)), d, to + 3 * to_stride);
}

#endif

void transpose(const float* from, std::int64_t from_stride, float* to, std::int64_t to_stride,
               std::int64_t height, std::int64_t width) {
  const std::int64_t whole_height = height / 4 * 4;
  const std::int64_t whole_width = width / 4 * 4;
  for (std::int64_t i = 0; i < whole_height; i += 4) {
    for (std::int64_t j = 0; j < whole_width; j += 4) {
      transpose_4x4(from + i * from_stride + j, from_stride, to + j * to_stride + i, to_stride);
    }
  }
  transpose_edge(from + whole_width, from_stride, to + whole_width * to_stride, to_stride,
                 whole_height, width - whole_width);
  transpose_edge(from + whole_height * from_stride, from_stride, to + whole_height, to_stride,
                 height - whole_height, width);
}

}  // namespace plait::kernels::sparse::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace plait::kernels::sparse {

HWY_EXPORT(transpose);

namespace {

/// One cache line of a plain row: what is read at once is used at once.
constexpr std::int64_t kFeatures = 16;

/// Some features of one panel.
struct Piece {
  std::int64_t feature;
  std::int64_t features;
  std::int64_t samples;
  std::int64_t plain;  ///< offsets
  std::int64_t panel;
};

template <class Convert>
void each_piece(const Panels& panels, std::int64_t features, int threads, const Convert& convert) {
  const std::int64_t blocks = divide_up(features, kFeatures);
#pragma omp parallel for num_threads(threads) schedule(static)
  for (std::int64_t i = 0; i < panels.count * blocks; ++i) {
    const std::int64_t first = i / blocks * panels.width;
    const std::int64_t feature = i % blocks * kFeatures;
    convert(Piece{.feature = feature,
                  .features = std::min(kFeatures, features - feature),
                  .samples = std::clamp<std::int64_t>(panels.samples - first, 0, panels.width),
                  .plain = first * features + feature,
                  .panel = first * features + feature * panels.width});
  }
}

}  // namespace

Panels panels_for(std::int64_t samples) {
  if (samples == 0) return {};
  return {.samples = samples,
          .count = tensor::panel_count(samples),
          .width = tensor::panel_width(samples)};
}

void to_panels(const Panels& panels, std::int64_t features, const float* plain, float* dst,
               int threads) {
  each_piece(panels, features, threads, [&](const Piece& piece) {
    float* to = dst + piece.panel;
    HWY_DYNAMIC_DISPATCH(transpose)
    (plain + piece.plain, features, to, panels.width, piece.samples, piece.features);
    for (std::int64_t f = 0; f < piece.features; ++f) {
      std::fill_n(to + f * panels.width + piece.samples, panels.width - piece.samples, 0.0F);
    }
  });
}

void from_panels(const Panels& panels, std::int64_t features, const float* src, float* plain,
                 int threads) {
  each_piece(panels, features, threads, [&](const Piece& piece) {
    HWY_DYNAMIC_DISPATCH(transpose)
    (src + piece.panel, panels.width, plain + piece.plain, features, piece.features, piece.samples);
  });
}

}  // namespace plait::kernels::sparse
#endif
