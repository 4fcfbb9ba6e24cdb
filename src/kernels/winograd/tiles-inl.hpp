// Walking the tiles of a tensor in nChw8c, and what the kernels of src_kernels.cpp and
// dst_kernels.cpp share.
#if defined(PLAIT_LAYERS_WINOGRAD_TILES_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef PLAIT_LAYERS_WINOGRAD_TILES_INL
#undef PLAIT_LAYERS_WINOGRAD_TILES_INL
#else
#define PLAIT_LAYERS_WINOGRAD_TILES_INL
#endif

#include <cstddef>

#include "hwy/highway.h"
#include "kernels/winograd/kernels.hpp"
#include "kernels/winograd/lanes-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace plait::kernels::winograd {
namespace HWY_NAMESPACE {

// Walks the tiles of a span; y and x are those of the tile's first output in dst.
template <int kStep>
class TileWalk {
 public:
  // `image` is grid.src or grid.dst: that of the tensor to which `offset` belongs.
  TileWalk(const Grid& grid, const TileSpan& span, const ImageSize& image)
      : grid_(grid),
        image_floats_(std::ptrdiff_t{8} * image.height * image.width * span.blocks),
        y(span.first / grid.cols % grid.rows * kStep),
        x(span.first % grid.cols * kStep),
        offset(span.first / grid.image_tiles() * image_floats_ +
               std::ptrdiff_t{8} * image.height * image.width * span.block) {}

  void next() {
    x += kStep;
    if (x < grid_.dst.width) return;
    x = 0;
    y += kStep;
    if (y < grid_.dst.height) return;
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
    HWY_UNROLL(8)
    for (int i = 0; i < kSize; ++i) to[i] = load(row + std::ptrdiff_t{8} * (x + i));
  } else {
    HWY_UNROLL(8)
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
    HWY_UNROLL(8)
    for (int i = 0; i < kRows; ++i) in[i] = rows[i][j];
    transform(in, out);
    HWY_UNROLL(8)
    for (int i = 0; i < kPoints; ++i) store(out[i], planes + (i * kPoints + j) * plane);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace plait::kernels::winograd
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
