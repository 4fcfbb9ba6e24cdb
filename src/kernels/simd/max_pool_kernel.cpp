// The Highway kernels of max pooling, forward and backward.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/simd/max_pool_kernel.cpp"
#include <hwy/foreach_target.h>
// after foreach_target, by Highway's rule
#include <hwy/highway.h>

#include <algorithm>
#include <limits>

#include "kernels/simd/max_pool_kernel.hpp"

HWY_BEFORE_NAMESPACE();
namespace plait::kernels::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Tag = hn::CappedTag<float, 8>;
using Vec = hn::Vec<Tag>;
using IntTag = hn::Rebind<std::int32_t, Tag>;
using ByteTag = hn::Rebind<std::uint8_t, Tag>;

/// The part of a window inside the image: rows [top, bottom), columns [left, right), and the place
/// number of its first element.
struct Window {
  std::int64_t top, bottom, left, right, row0, column0;
};

HWY_INLINE Window window_at(const MaxPoolPass& pass, std::int64_t oh, std::int64_t ow) {
  const std::int64_t row0 = oh * pass.pool.stride.height - pass.pool.padding.height;
  const std::int64_t column0 = ow * pass.pool.stride.width - pass.pool.padding.width;
  return {std::max<std::int64_t>(row0, 0),
          std::min(row0 + pass.pool.kernel.height, pass.src_height),
          std::max<std::int64_t>(column0, 0),
          std::min(column0 + pass.pool.kernel.width, pass.src_width),
          row0,
          column0};
}

/// Calls body(element, place) for every element of the window; element counts floats in the plane.
template <class Body>
HWY_INLINE void for_window(const MaxPoolPass& pass, const Window& w, const Body& body) {
  for (std::int64_t row = w.top; row < w.bottom; ++row) {
    const std::int64_t place = (row - w.row0) * pass.pool.kernel.width - w.column0;
    for (std::int64_t column = w.left; column < w.right; ++column) {
      body((row * pass.src_width + column) * pass.block, place + column);
    }
  }
}

/// Calls body(plane, window, dst element) for all windows of the pass, once per vector of channels.
template <class Body>
HWY_INLINE void for_windows(const MaxPoolPass& pass, const Body& body) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(Tag()));
  for (std::int64_t plane = pass.begin; plane < pass.end; ++plane) {
    for (std::int64_t oh = 0; oh < pass.dst_height; ++oh) {
      for (std::int64_t ow = 0; ow < pass.dst_width; ++ow) {
        const Window window = window_at(pass, oh, ow);
        for (std::int64_t lane = 0; lane < pass.block; lane += lanes) {
          body(plane, window, (oh * pass.dst_width + ow) * pass.block + lane, lane);
        }
      }
    }
  }
}

void pool(const MaxPoolPass& pass) {
  const Tag d;
  const std::int64_t src_plane = pass.src_height * pass.src_width * pass.block;
  const std::int64_t dst_plane = pass.dst_height * pass.dst_width * pass.block;
  for_windows(pass, [&](std::int64_t plane, const Window& window, std::int64_t at,
                        std::int64_t lane) HWY_ATTR {
    const float* src = pass.src + plane * src_plane + lane;
    Vec best = hn::Set(d, -std::numeric_limits<float>::infinity());
    Vec place = hn::Set(d, static_cast<float>((window.top - window.row0) * pass.pool.kernel.width +
                                              window.left - window.column0));
    for_window(pass, window, [&](std::int64_t element, std::int64_t number) HWY_ATTR {
      const Vec value = hn::LoadU(d, src + element);
      const auto wins = hn::Or(hn::Gt(value, best), hn::Ne(value, value));
      best = hn::IfThenElse(wins, value, best);
      place = hn::IfThenElse(wins, hn::Set(d, static_cast<float>(number)), place);
    });
    hn::StoreU(best, d, pass.dst + plane * dst_plane + at);
    hn::StoreU(hn::DemoteTo(ByteTag(), hn::ConvertTo(IntTag(), place)), ByteTag(),
               pass.places + plane * dst_plane + at);
  });
}

/// `apart`: no element is in two windows, so gradients are stored, not added.
template <bool apart>
void pool_diff(const MaxPoolPass& pass) {
  const Tag d;
  const std::int64_t src_plane = pass.src_height * pass.src_width * pass.block;
  const std::int64_t dst_plane = pass.dst_height * pass.dst_width * pass.block;
  const bool covered = apart && pass.pool.kernel == pass.pool.stride &&
                       pass.pool.padding == ops::Extent2{0, 0} &&
                       pass.dst_height * pass.pool.stride.height == pass.src_height &&
                       pass.dst_width * pass.pool.stride.width == pass.src_width;
  if (!covered) {
    std::fill(pass.diff_src + pass.begin * src_plane, pass.diff_src + pass.end * src_plane, 0.0F);
  }
  for_windows(pass, [&](std::int64_t plane, const Window& window, std::int64_t at,
                        std::int64_t lane) HWY_ATTR {
    const Vec gradient = hn::LoadU(d, pass.diff_dst + plane * dst_plane + at);
    const auto places = hn::LoadU(ByteTag(), pass.places + plane * dst_plane + at);
    const Vec place = hn::ConvertTo(d, hn::PromoteTo(IntTag(), places));
    float* diff_src = pass.diff_src + plane * src_plane + lane;
    for_window(pass, window, [&](std::int64_t element, std::int64_t number) HWY_ATTR {
      const auto chosen = hn::Eq(place, hn::Set(d, static_cast<float>(number)));
      Vec part = hn::IfThenElseZero(chosen, gradient);
      if constexpr (!apart) part = hn::Add(part, hn::LoadU(d, diff_src + element));
      hn::StoreU(part, d, diff_src + element);
    });
  });
}

void pool_diff_any(const MaxPoolPass& pass) {
  const bool apart = pass.pool.stride.height >= pass.pool.kernel.height &&
                     pass.pool.stride.width >= pass.pool.kernel.width;
  apart ? pool_diff<true>(pass) : pool_diff<false>(pass);
}

}  // namespace plait::kernels::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace plait::kernels::simd {

HWY_EXPORT(pool);
HWY_EXPORT(pool_diff_any);

void max_pool(const MaxPoolPass& pass) { HWY_DYNAMIC_DISPATCH(pool)(pass); }
void max_pool_diff(const MaxPoolPass& pass) { HWY_DYNAMIC_DISPATCH(pool_diff_any)(pass); }

}  // namespace plait::kernels::simd
#endif
