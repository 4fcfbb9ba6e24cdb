// The transforms between src, or diff_src, in nChw8c and planes of tiles: transform_src and
// add_diff_src of kernels.hpp. Pixels outside the image are read as zero and not written.
#include <algorithm>

#include "kernels/winograd/kernels.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/winograd/src_kernels.cpp"
#include "hwy/foreach_target.h"
// After foreach_target.h.
#include "hwy/highway.h"
#include "kernels/winograd/lanes-inl.hpp"
#include "kernels/winograd/tiles-inl.hpp"
#include "kernels/winograd/transforms-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace plait::kernels::winograd {
namespace HWY_NAMESPACE {

template <class T>
void src_to_planes(const Grid& grid, const float* src, const TileSpan& span, float* planes,
                   std::ptrdiff_t plane) {
  TileWalk<T::kDst> walk(grid, span, grid.src);
  for (int t = span.first; t < span.last; ++t, walk.next(), planes += 8) {
    Lanes rows[T::kSrc][T::kPoints];
    for (int i = 0; i < T::kSrc; ++i) {
      const int y = walk.y - grid.padding + T::kSkip + i;
      if (y >= 0 && y < grid.src.height) {
        Lanes in[T::kSrc];
        load_row<T::kSrc>(src + walk.offset + std::ptrdiff_t{8} * grid.src.width * y,
                          walk.x - grid.padding + T::kSkip, grid.src.width, in);
        T::src(in, rows[i]);
      } else {
        HWY_UNROLL(8)
        for (int j = 0; j < T::kPoints; ++j) rows[i][j] = set(0.0f);
      }
    }
    finish_columns(
        rows, [](const Lanes* in, Lanes* out) HWY_ATTR { T::src(in, out); }, planes, plane);
  }
}

// Zeroes the rows of a block of channels that the tiles from row y on are the first to add to.
template <class T>
void clear_rows(const Grid& grid, int y, float* image) {
  const int end = std::min(y - grid.padding + T::kSrc, grid.src.height);
  const int first = y == 0 ? 0 : std::max(0, y - grid.padding + T::kSrc - T::kDst);
  const std::ptrdiff_t row = std::ptrdiff_t{8} * grid.src.width;
  if (first < end) std::fill(image + first * row, image + end * row, 0.0f);
}

template <class T>
void planes_to_diff_src(const Grid& grid, const float* planes, std::ptrdiff_t plane,
                        const TileSpan& span, float* diff_src) {
  TileWalk<T::kDst> walk(grid, span, grid.src);
  for (int t = span.first; t < span.last; ++t, walk.next(), planes += 8) {
    float* const image = diff_src + walk.offset;
    if (walk.x == 0) clear_rows<T>(grid, walk.y, image);
    Lanes columns[T::kPoints][T::kSrc];
    for (int j = 0; j < T::kPoints; ++j) {
      Lanes in[T::kPoints];
      HWY_UNROLL(8)
      for (int i = 0; i < T::kPoints; ++i) in[i] = load(planes + (i * T::kPoints + j) * plane);
      T::diff_src(in, columns[j]);
    }
    const int y = walk.y - grid.padding, x = walk.x - grid.padding;
    const bool whole = x >= 0 && x + T::kSrc <= grid.src.width;
    for (int i = std::max(0, -y); i < std::min(T::kSrc, grid.src.height - y); ++i) {
      Lanes in[T::kPoints], out[T::kSrc];
      HWY_UNROLL(8)
      for (int j = 0; j < T::kPoints; ++j) in[j] = columns[j][i];
      T::diff_src(in, out);
      float* const to = image + std::ptrdiff_t{8} * (std::ptrdiff_t{grid.src.width} * (y + i) + x);
      if (whole) {
        HWY_UNROLL(8)
        for (int j = 0; j < T::kSrc; ++j) store(load(to + 8 * j) + out[j], to + 8 * j);
      } else {
        for (int j = std::max(0, -x); j < std::min(T::kSrc, grid.src.width - x); ++j) {
          store(load(to + 8 * j) + out[j], to + 8 * j);
        }
      }
    }
  }
}

void src_for(Tiling tiling, const Grid& grid, const float* src, const TileSpan& span, float* planes,
             std::ptrdiff_t plane) {
  with_transforms(
      tiling, [&](auto t) HWY_ATTR { src_to_planes<decltype(t)>(grid, src, span, planes, plane); });
}

void diff_src_for(Tiling tiling, const Grid& grid, const float* planes, std::ptrdiff_t plane,
                  const TileSpan& span, float* diff_src) {
  if (tiling == Tiling::f2_5x5) {
    planes_to_diff_src<F2By5>(grid, planes, plane, span, diff_src);
  } else {
    planes_to_diff_src<F4By5>(grid, planes, plane, span, diff_src);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace plait::kernels::winograd
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace plait::kernels::winograd {

HWY_EXPORT(src_for);
HWY_EXPORT(diff_src_for);

void transform_src(Tiling tiling, const Grid& grid, const float* src, const TileSpan& span,
                   float* planes, std::ptrdiff_t plane) {
  HWY_DYNAMIC_DISPATCH(src_for)(tiling, grid, src, span, planes, plane);
}

void add_diff_src(Tiling tiling, const Grid& grid, const float* planes, std::ptrdiff_t plane,
                  const TileSpan& span, float* diff_src) {
  HWY_DYNAMIC_DISPATCH(diff_src_for)(tiling, grid, planes, plane, span, diff_src);
}

}  // namespace plait::kernels::winograd
#endif  // HWY_ONCE
