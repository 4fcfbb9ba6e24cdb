// The Highway kernels of BatchNorm's four passes over channel-blocked planes.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/simd/batch_norm.cpp"
#include <hwy/foreach_target.h>
// after foreach_target, by Highway's rule
#include <hwy/highway.h>

#include <algorithm>

#include "kernels/simd/batch_norm.hpp"

HWY_BEFORE_NAMESPACE();
namespace plait::kernels::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Tag = hn::CappedTag<float, 8>;
using Vec = hn::Vec<Tag>;

/// Pixels whose sums are taken in fp32; those of a larger plane are added up in double.
constexpr std::int64_t kRun = 1024;

/// One vector's worth of channels of one plane: where its pixels begin and its channels' index.
struct Strand {
  std::int64_t offset;
  std::int64_t channel;
};

template <class Body>
HWY_INLINE void for_each_strand(const BatchNormPass& pass, const Body& body) {
  const Tag d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const BlockedShape& shape = pass.shape;
  const std::int64_t plane_floats = shape.pixels * shape.block;
  for (std::int64_t plane = pass.begin; plane < pass.end; ++plane) {
    const std::int64_t first = plane % shape.channel_blocks * shape.block;
    for (std::int64_t lane = 0; lane < shape.block; lane += lanes) {
      body(Strand{plane * plane_floats + lane, first + lane});
    }
  }
}

HWY_INLINE void accumulate(double* totals, Vec sum) {
  const Tag d;
  HWY_ALIGN float lanes[8];
  hn::Store(sum, d, lanes);
  for (std::size_t i = 0; i < hn::Lanes(d); ++i) totals[i] += static_cast<double>(lanes[i]);
}

void sums(const BatchNormPass& pass) {
  const Tag d;
  const std::int64_t step = pass.shape.block;
  for_each_strand(pass, [&](Strand strand) {
    const Vec center = hn::LoadU(d, pass.center + strand.channel);
    const float* x = pass.x + strand.offset;
    for (std::int64_t first = 0; first < pass.shape.pixels; first += kRun) {
      const std::int64_t pixels = std::min(kRun, pass.shape.pixels - first);
      Vec a0 = hn::Zero(d), a1 = a0, b0 = a0, b1 = a0, a2 = a0, a3 = a0, b2 = a0, b3 = a0;
      std::int64_t i = 0;
      for (; i + 4 <= pixels; i += 4, x += 4 * step) {
        const Vec v0 = hn::Sub(hn::LoadU(d, x), center);
        const Vec v1 = hn::Sub(hn::LoadU(d, x + step), center);
        const Vec v2 = hn::Sub(hn::LoadU(d, x + 2 * step), center);
        const Vec v3 = hn::Sub(hn::LoadU(d, x + 3 * step), center);
        a0 = hn::Add(a0, v0), a1 = hn::Add(a1, v1), a2 = hn::Add(a2, v2), a3 = hn::Add(a3, v3);
        b0 = hn::MulAdd(v0, v0, b0), b1 = hn::MulAdd(v1, v1, b1);
        b2 = hn::MulAdd(v2, v2, b2), b3 = hn::MulAdd(v3, v3, b3);
      }
      for (; i < pixels; ++i, x += step) {
        const Vec v = hn::Sub(hn::LoadU(d, x), center);
        a0 = hn::Add(a0, v), b0 = hn::MulAdd(v, v, b0);
      }
      accumulate(pass.sum_a + strand.channel, hn::Add(hn::Add(a0, a1), hn::Add(a2, a3)));
      accumulate(pass.sum_b + strand.channel, hn::Add(hn::Add(b0, b1), hn::Add(b2, b3)));
    }
  });
}

template <bool relu>
void apply(const BatchNormPass& pass) {
  const Tag d;
  const std::int64_t step = pass.shape.block;
  for_each_strand(pass, [&](Strand strand) {
    const Vec scale = hn::LoadU(d, pass.scale + strand.channel);
    const Vec shift = hn::LoadU(d, pass.shift + strand.channel);
    const float* x = pass.x + strand.offset;
    float* y = pass.y + strand.offset;
    for (std::int64_t i = 0; i < pass.shape.pixels; ++i, x += step, y += step) {
      Vec v = hn::MulAdd(hn::LoadU(d, x), scale, shift);
      // x86 max(v, 0) returns its second operand for NaN; keep NaN visible by selecting on v < 0.
      if constexpr (relu) v = hn::IfThenZeroElse(hn::Lt(v, hn::Zero(d)), v);
      hn::StoreU(v, d, y);
    }
  });
}

/// diff_y where the ReLU let the value through. The same expression as in apply(): equal bits.
template <bool relu>
HWY_INLINE Vec gate(Vec x, Vec diff_y, Vec scale, Vec shift) {
  if constexpr (!relu) return diff_y;
  const Tag d;
  return hn::IfThenElseZero(hn::Gt(hn::MulAdd(x, scale, shift), hn::Zero(d)), diff_y);
}

template <bool relu>
void diff_sums(const BatchNormPass& pass) {
  const Tag d;
  const std::int64_t step = pass.shape.block;
  for_each_strand(pass, [&](Strand strand) {
    const Vec center = hn::LoadU(d, pass.center + strand.channel);
    const Vec scale = hn::LoadU(d, pass.scale + strand.channel);
    const Vec shift = hn::LoadU(d, pass.shift + strand.channel);
    const float* x = pass.x + strand.offset;
    const float* diff_y = pass.diff_y + strand.offset;
    for (std::int64_t first = 0; first < pass.shape.pixels; first += kRun) {
      const std::int64_t pixels = std::min(kRun, pass.shape.pixels - first);
      Vec a0 = hn::Zero(d), a1 = a0, b0 = a0, b1 = a0;
      std::int64_t i = 0;
      for (; i + 2 <= pixels; i += 2, x += 2 * step, diff_y += 2 * step) {
        const Vec x0 = hn::LoadU(d, x);
        const Vec x1 = hn::LoadU(d, x + step);
        const Vec g0 = gate<relu>(x0, hn::LoadU(d, diff_y), scale, shift);
        const Vec g1 = gate<relu>(x1, hn::LoadU(d, diff_y + step), scale, shift);
        a0 = hn::Add(a0, g0), a1 = hn::Add(a1, g1);
        b0 = hn::MulAdd(g0, hn::Sub(x0, center), b0), b1 = hn::MulAdd(g1, hn::Sub(x1, center), b1);
      }
      for (; i < pixels; ++i, x += step, diff_y += step) {
        const Vec v = hn::LoadU(d, x);
        const Vec g = gate<relu>(v, hn::LoadU(d, diff_y), scale, shift);
        a0 = hn::Add(a0, g), b0 = hn::MulAdd(g, hn::Sub(v, center), b0);
      }
      accumulate(pass.sum_a + strand.channel, hn::Add(a0, a1));
      accumulate(pass.sum_b + strand.channel, hn::Add(b0, b1));
    }
  });
}

template <bool relu, bool with_addend>
void diff_apply(const BatchNormPass& pass) {
  const Tag d;
  const std::int64_t step = pass.shape.block;
  for_each_strand(pass, [&](Strand strand) {
    const Vec scale = hn::LoadU(d, pass.scale + strand.channel);
    const Vec shift = hn::LoadU(d, pass.shift + strand.channel);
    const Vec slope = hn::LoadU(d, pass.slope + strand.channel);
    const Vec level = hn::LoadU(d, pass.level + strand.channel);
    const float* x = pass.x + strand.offset;
    const float* diff_y = pass.diff_y + strand.offset;
    const float* addend = with_addend ? pass.addend + strand.offset : nullptr;
    float* diff_x = pass.diff_x + strand.offset;
    for (std::int64_t i = 0; i < pass.shape.pixels * step; i += step) {
      const Vec v = hn::LoadU(d, x + i);
      const Vec g = gate<relu>(v, hn::LoadU(d, diff_y + i), scale, shift);
      Vec result = hn::MulAdd(g, scale, hn::MulAdd(v, slope, level));
      if constexpr (with_addend) result = hn::Add(result, hn::LoadU(d, addend + i));
      hn::StoreU(result, d, diff_x + i);
    }
  });
}

void apply_any(const BatchNormPass& pass) { pass.relu ? apply<true>(pass) : apply<false>(pass); }

void diff_sums_any(const BatchNormPass& pass) {
  pass.relu ? diff_sums<true>(pass) : diff_sums<false>(pass);
}

void diff_apply_any(const BatchNormPass& pass) {
  if (pass.addend != nullptr) {
    pass.relu ? diff_apply<true, true>(pass) : diff_apply<false, true>(pass);
  } else {
    pass.relu ? diff_apply<true, false>(pass) : diff_apply<false, false>(pass);
  }
}

}  // namespace plait::kernels::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace plait::kernels::simd {

HWY_EXPORT(sums);
HWY_EXPORT(apply_any);
HWY_EXPORT(diff_sums_any);
HWY_EXPORT(diff_apply_any);

void batch_norm_sums(const BatchNormPass& pass) { HWY_DYNAMIC_DISPATCH(sums)(pass); }
void batch_norm_apply(const BatchNormPass& pass) { HWY_DYNAMIC_DISPATCH(apply_any)(pass); }
void batch_norm_diff_sums(const BatchNormPass& pass) { HWY_DYNAMIC_DISPATCH(diff_sums_any)(pass); }
void batch_norm_diff_apply(const BatchNormPass& pass) {
  HWY_DYNAMIC_DISPATCH(diff_apply_any)(pass);
}

}  // namespace plait::kernels::simd
#endif
