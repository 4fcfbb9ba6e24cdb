// The transforms between dst, or diff_dst, in nChw8c and planes of tiles: transform_dst and
// transform_diff_dst of kernels.hpp. Pixels outside the image are read as zero and not written.
#include <algorithm>

#include "kernels/winograd/kernels.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/winograd/dst_kernels.cpp"
#include "hwy/foreach_target.h"
// After foreach_target.h.
#include "hwy/highway.h"
#include "kernels/winograd/lanes-inl.hpp"
#include "kernels/winograd/tiles-inl.hpp"
#include "kernels/winograd/transforms-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace plait::kernels::winograd {
namespace HWY_NAMESPACE {

// Tiles whose gradients are added up before they join the sum of all: one long sum in fp32 would
// lose digits.
constexpr int kSummedTiles = 64;

template <class T>
void diff_dst_to_planes(const Grid& grid, const float* diff_dst, const TileSpan& span,
                        float* planes, std::ptrdiff_t plane, float* bias_sum) {
  TileWalk<T::kDst> walk(grid, span, grid.dst);
  Lanes total = set(0.0f), some = set(0.0f);
  for (int t = span.first; t < span.last; ++t, walk.next(), planes += 8) {
    Lanes rows[T::kDst][T::kPoints];
    Lanes sum = set(0.0f);
    for (int i = 0; i < T::kDst; ++i) {
      const int y = walk.y + i;
      if (y < grid.dst.height) {
        Lanes in[T::kDst];
        load_row<T::kDst>(diff_dst + walk.offset + std::ptrdiff_t{8} * grid.dst.width * y, walk.x,
                          grid.dst.width, in);
        HWY_UNROLL(8)
        for (int j = 0; j < T::kDst; ++j) sum = sum + in[j];
        T::diff_dst(in, rows[i]);
      } else {
        HWY_UNROLL(8)
        for (int j = 0; j < T::kPoints; ++j) rows[i][j] = set(0.0f);
      }
    }
    some = some + sum;
    if ((t - span.first) % kSummedTiles == kSummedTiles - 1) {
      total = total + some;
      some = set(0.0f);
    }
    finish_columns(
        rows, [](const Lanes* in, Lanes* out) HWY_ATTR { T::diff_dst(in, out); }, planes, plane);
  }
  if (bias_sum != nullptr) store(load(bias_sum) + (total + some), bias_sum);
}

template <class T>
void planes_to_dst(const Grid& grid, const float* planes, std::ptrdiff_t plane,
                   const TileSpan& span, const float* bias, float* dst) {
  TileWalk<T::kDst> walk(grid, span, grid.dst);
  const Lanes bias_lanes = bias != nullptr ? load(bias) : set(0.0f);
  for (int t = span.first; t < span.last; ++t, walk.next(), planes += 8) {
    Lanes columns[T::kPoints][T::kDst];
    for (int j = 0; j < T::kPoints; ++j) {
      Lanes in[T::kPoints];
      HWY_UNROLL(8)
      for (int i = 0; i < T::kPoints; ++i) in[i] = load(planes + (i * T::kPoints + j) * plane);
      T::dst(in, columns[j]);
    }
    const int rows_inside = std::min(T::kDst, grid.dst.height - walk.y);
    const int cols_inside = std::min(T::kDst, grid.dst.width - walk.x);
    for (int i = 0; i < rows_inside; ++i) {
      Lanes in[T::kPoints], out[T::kDst];
      HWY_UNROLL(8)
      for (int j = 0; j < T::kPoints; ++j) in[j] = columns[j][i];
      T::dst(in, out);
      float* to = dst + walk.offset +
                  std::ptrdiff_t{8} * (std::ptrdiff_t{grid.dst.width} * (walk.y + i) + walk.x);
      if (cols_inside == T::kDst) {
        HWY_UNROLL(8)
        for (int j = 0; j < T::kDst; ++j) store(out[j] + bias_lanes, to + 8 * j);
      } else {
        for (int j = 0; j < cols_inside; ++j) store(out[j] + bias_lanes, to + 8 * j);
      }
    }
  }
}

void diff_dst_for(Tiling tiling, const Grid& grid, const float* diff_dst, const TileSpan& span,
                  float* planes, std::ptrdiff_t plane, float* sum) {
  with_transforms(tiling, [&](auto t) HWY_ATTR {
    diff_dst_to_planes<decltype(t)>(grid, diff_dst, span, planes, plane, sum);
  });
}

void dst_for(Tiling tiling, const Grid& grid, const float* planes, std::ptrdiff_t plane,
             const TileSpan& span, const float* bias, float* dst) {
  with_transforms(tiling, [&](auto t) HWY_ATTR {
    planes_to_dst<decltype(t)>(grid, planes, plane, span, bias, dst);
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace plait::kernels::winograd
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace plait::kernels::winograd {

HWY_EXPORT(diff_dst_for);
HWY_EXPORT(dst_for);

void transform_diff_dst(Tiling tiling, const Grid& grid, const float* diff_dst,
                        const TileSpan& span, float* planes, std::ptrdiff_t plane,
                        float* bias_sum) {
  HWY_DYNAMIC_DISPATCH(diff_dst_for)(tiling, grid, diff_dst, span, planes, plane, bias_sum);
}

void transform_dst(Tiling tiling, const Grid& grid, const float* planes, std::ptrdiff_t plane,
                   const TileSpan& span, const float* bias, float* dst) {
  HWY_DYNAMIC_DISPATCH(dst_for)(tiling, grid, planes, plane, span, bias, dst);
}

}  // namespace plait::kernels::winograd
#endif  // HWY_ONCE
