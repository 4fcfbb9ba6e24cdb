// The transforms between tensors in nChw8c and planes of tiles: transform_src, transform_diff_dst
// and transform_dst of kernels.hpp. Pixels outside the image are read as zero and not written.
#include <algorithm>

#include "layers/winograd/kernels.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "layers/winograd/tile_kernels.cpp"
#include "hwy/foreach_target.h"
// After foreach_target.h.
#include "hwy/highway.h"
#include "layers/winograd/lanes-inl.hpp"
#include "layers/winograd/transforms-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace plait::winograd {
namespace HWY_NAMESPACE {

// Walks the tiles of a span; y and x are those of the tile's first output.
template <int kStep>
class TileWalk {
 public:
  TileWalk(const Grid& grid, const TileSpan& span)
      : grid_(grid),
        image_floats_(std::ptrdiff_t{8} * grid.height * grid.width * span.blocks),
        y(span.first / grid.cols % grid.rows * kStep),
        x(span.first % grid.cols * kStep),
        offset(span.first / (grid.rows * grid.cols) * image_floats_ +
               std::ptrdiff_t{8} * grid.height * grid.width * span.block) {}

  void next() {
    x += kStep;
    if (x < grid_.width) return;
    x = 0;
    y += kStep;
    if (y < grid_.height) return;
    y = 0;
    offset += image_floats_;
  }

 private:
  const Grid grid_;
  const std::ptrdiff_t image_floats_;

 public:
  int y;
  int x;
  std::ptrdiff_t offset;  // of the image's block of channels
};

// Loads the kSize pixels from column x of a row (given at column 0), the row being `width` wide.
template <int kSize>
HWY_INLINE void load_row(const float* row, int x, int width, Lanes* to) {
  if (x >= 0 && x + kSize <= width) {
    HWY_UNROLL(6)
    for (int i = 0; i < kSize; ++i) to[i] = load(row + std::ptrdiff_t{8} * (x + i));
  } else {
    HWY_UNROLL(6)
    for (int i = 0; i < kSize; ++i) {
      const bool inside = x + i >= 0 && x + i < width;
      to[i] = inside ? load(row + std::ptrdiff_t{8} * (x + i)) : set(0.0f);
    }
  }
}

// Stores the kPoints x kPoints transform of a tile whose rows have been transformed.
template <int kRows, int kPoints, class Transform>
HWY_INLINE void finish_columns(const Lanes (&rows)[kRows][kPoints], Transform transform,
                               float* planes, std::ptrdiff_t plane) {
  for (int j = 0; j < kPoints; ++j) {
    Lanes in[kRows], out[kPoints];
    HWY_UNROLL(6)
    for (int i = 0; i < kRows; ++i) in[i] = rows[i][j];
    transform(in, out);
    HWY_UNROLL(6)
    for (int i = 0; i < kPoints; ++i) store(out[i], planes + (i * kPoints + j) * plane);
  }
}

template <class T>
void src_to_planes(const Grid& grid, const float* src, const TileSpan& span, float* planes,
                   std::ptrdiff_t plane) {
  TileWalk<T::kDst> walk(grid, span);
  for (int t = span.first; t < span.last; ++t, walk.next(), planes += 8) {
    Lanes rows[T::kSrc][T::kPoints];
    for (int i = 0; i < T::kSrc; ++i) {
      const int y = walk.y + T::kOffset + i;
      if (y >= 0 && y < grid.height) {
        Lanes in[T::kSrc];
        load_row<T::kSrc>(src + walk.offset + std::ptrdiff_t{8} * grid.width * y,
                          walk.x + T::kOffset, grid.width, in);
        T::src(in, rows[i]);
      } else {
        HWY_UNROLL(6)
        for (int j = 0; j < T::kPoints; ++j) rows[i][j] = set(0.0f);
      }
    }
    finish_columns(
        rows, [](const Lanes* in, Lanes* out) HWY_ATTR { T::src(in, out); }, planes, plane);
  }
}

template <class T>
void diff_dst_to_planes(const Grid& grid, const float* diff_dst, const TileSpan& span,
                        float* planes, std::ptrdiff_t plane, float* bias_sum) {
  TileWalk<T::kDst> walk(grid, span);
  Lanes total = set(0.0f);
  for (int t = span.first; t < span.last; ++t, walk.next(), planes += 8) {
    Lanes rows[T::kDst][T::kPoints];
    Lanes sum = set(0.0f);
    for (int i = 0; i < T::kDst; ++i) {
      const int y = walk.y + i;
      if (y < grid.height) {
        Lanes in[T::kDst];
        load_row<T::kDst>(diff_dst + walk.offset + std::ptrdiff_t{8} * grid.width * y, walk.x,
                          grid.width, in);
        HWY_UNROLL(6)
        for (int j = 0; j < T::kDst; ++j) sum = sum + in[j];
        T::diff_dst(in, rows[i]);
      } else {
        HWY_UNROLL(6)
        for (int j = 0; j < T::kPoints; ++j) rows[i][j] = set(0.0f);
      }
    }
    total = total + sum;
    finish_columns(
        rows, [](const Lanes* in, Lanes* out) HWY_ATTR { T::diff_dst(in, out); }, planes, plane);
  }
  if (bias_sum != nullptr) store(load(bias_sum) + total, bias_sum);
}

template <class T>
void planes_to_dst(const Grid& grid, const float* planes, std::ptrdiff_t plane,
                   const TileSpan& span, const float* bias, float* dst) {
  TileWalk<T::kDst> walk(grid, span);
  const Lanes bias_lanes = bias != nullptr ? load(bias) : set(0.0f);
  for (int t = span.first; t < span.last; ++t, walk.next(), planes += 8) {
    Lanes columns[T::kPoints][T::kDst];
    for (int j = 0; j < T::kPoints; ++j) {
      Lanes in[T::kPoints];
      HWY_UNROLL(6)
      for (int i = 0; i < T::kPoints; ++i) in[i] = load(planes + (i * T::kPoints + j) * plane);
      T::dst(in, columns[j]);
    }
    const int rows_inside = std::min(T::kDst, grid.height - walk.y);
    const int cols_inside = std::min(T::kDst, grid.width - walk.x);
    for (int i = 0; i < rows_inside; ++i) {
      Lanes in[T::kPoints], out[T::kDst];
      HWY_UNROLL(6)
      for (int j = 0; j < T::kPoints; ++j) in[j] = columns[j][i];
      T::dst(in, out);
      float* to = dst + walk.offset +
                  std::ptrdiff_t{8} * (std::ptrdiff_t{grid.width} * (walk.y + i) + walk.x);
      if (cols_inside == T::kDst) {
        HWY_UNROLL(6)
        for (int j = 0; j < T::kDst; ++j) store(out[j] + bias_lanes, to + 8 * j);
      } else {
        for (int j = 0; j < cols_inside; ++j) store(out[j] + bias_lanes, to + 8 * j);
      }
    }
  }
}

void src_for(Tiling tiling, const Grid& grid, const float* src, const TileSpan& span, float* planes,
             std::ptrdiff_t plane) {
  switch (tiling) {
    case Tiling::f2: return src_to_planes<F2>(grid, src, span, planes, plane);
    case Tiling::f4: return src_to_planes<F4>(grid, src, span, planes, plane);
    case Tiling::image2x2: return src_to_planes<Image2x2>(grid, src, span, planes, plane);
  }
}

void diff_dst_for(Tiling tiling, const Grid& grid, const float* diff_dst, const TileSpan& span,
                  float* planes, std::ptrdiff_t plane, float* sum) {
  switch (tiling) {
    case Tiling::f2: return diff_dst_to_planes<F2>(grid, diff_dst, span, planes, plane, sum);
    case Tiling::f4: return diff_dst_to_planes<F4>(grid, diff_dst, span, planes, plane, sum);
    case Tiling::image2x2:
      return diff_dst_to_planes<Image2x2>(grid, diff_dst, span, planes, plane, sum);
  }
}

void dst_for(Tiling tiling, const Grid& grid, const float* planes, std::ptrdiff_t plane,
             const TileSpan& span, const float* bias, float* dst) {
  switch (tiling) {
    case Tiling::f2: return planes_to_dst<F2>(grid, planes, plane, span, bias, dst);
    case Tiling::f4: return planes_to_dst<F4>(grid, planes, plane, span, bias, dst);
    case Tiling::image2x2: return planes_to_dst<Image2x2>(grid, planes, plane, span, bias, dst);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace plait::winograd
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace plait::winograd {

HWY_EXPORT(src_for);
HWY_EXPORT(diff_dst_for);
HWY_EXPORT(dst_for);

void transform_src(Tiling tiling, const Grid& grid, const float* src, const TileSpan& span,
                   float* planes, std::ptrdiff_t plane) {
  HWY_DYNAMIC_DISPATCH(src_for)(tiling, grid, src, span, planes, plane);
}

void transform_diff_dst(Tiling tiling, const Grid& grid, const float* diff_dst,
                        const TileSpan& span, float* planes, std::ptrdiff_t plane,
                        float* bias_sum) {
  HWY_DYNAMIC_DISPATCH(diff_dst_for)(tiling, grid, diff_dst, span, planes, plane, bias_sum);
}

void transform_dst(Tiling tiling, const Grid& grid, const float* planes, std::ptrdiff_t plane,
                   const TileSpan& span, const float* bias, float* dst) {
  HWY_DYNAMIC_DISPATCH(dst_for)(tiling, grid, planes, plane, span, bias, dst);
}

}  // namespace plait::winograd
#endif  // HWY_ONCE
