// The tilings of an image and the grid of tiles they give. A tiling turns each tile of output, with
// the input it needs, into `positions` independent products (see transforms-inl.hpp).
#pragma once

#include <cstddef>

#include "base/rounding.hpp"

namespace plait::kernels::winograd {

enum class Tiling {
  f2,        // F(2x2, 3x3): 16 products for 4 outputs
  f4,        // F(4x4, 3x3): 36 products for 16 outputs
  image2x2,  // 3x3, padding 1, whole images of at most 2x2, padding being known to be zero:
             // 9 products
  f2_5x5,    // F(2x2, 5x5): 36 products for 4 outputs
  f4_5x5,    // F(4x4, 5x5): 64 products for 16 outputs
};

constexpr int tile_size(Tiling tiling) {
  return tiling == Tiling::f4 || tiling == Tiling::f4_5x5 ? 4 : 2;
}

constexpr int positions(Tiling tiling) {
  switch (tiling) {
    case Tiling::f2: return 16;
    case Tiling::image2x2: return 9;
    case Tiling::f4_5x5: return 64;
    default: return 36;
  }
}

// Weights are kernel x kernel.
constexpr int kernel_size(Tiling tiling) {
  return tiling == Tiling::f2_5x5 || tiling == Tiling::f4_5x5 ? 5 : 3;
}

// Floats in the weights between two blocks of 8 channels.
constexpr std::ptrdiff_t block_weights(Tiling tiling) {
  return std::ptrdiff_t{64} * kernel_size(tiling) * kernel_size(tiling);
}

// How forward and backward_data use a tiling.
enum class Method {
  forward,  // dst = A^T [(G g) . (B^T src)]
  turned,   // diff_src: forward with diff_dst as src, the kernel turned by 180 degrees
  adjoint,  // diff_src = B [(G g) . (A diff_dst)], forward step by step backwards: on the tiles of
            // dst, fewer than those of src with little padding; results overlap and are added up
};

struct ImageSize {
  int height;
  int width;
};

// Images cut into rows x cols tiles of dst; the tile at (y, x) of dst reads src from
// (y - padding, x - padding) on. Tiles are numbered image by image, row by row.
struct Grid {
  int batch;
  ImageSize src;
  ImageSize dst;
  int padding;
  int rows;
  int cols;

  constexpr int image_tiles() const { return rows * cols; }
  constexpr int tiles() const { return batch * image_tiles(); }
};

constexpr Grid make_grid(Tiling tiling, int batch, ImageSize src, int padding) {
  const int m = tile_size(tiling);
  const int border = 2 * padding - kernel_size(tiling) + 1;
  const ImageSize dst{src.height + border, src.width + border};
  return {batch, src, dst, padding, divide_up(dst.height, m), divide_up(dst.width, m)};
}

// Transformed tiles are kept in planes, one per position: (positions, channels / 8, tiles, 8).
// Strides are in floats. Both are an odd number of cache lines: powers of two would make planes and
// blocks compete for the same cache sets.
struct PlaneStrides {
  std::ptrdiff_t block;  // between blocks of 8 channels
  std::ptrdiff_t plane;  // between positions
};

constexpr std::ptrdiff_t odd_lines(std::ptrdiff_t floats) {
  constexpr std::ptrdiff_t line = 16;
  const std::ptrdiff_t lines = divide_up(floats, line);
  return (lines | 1) * line;
}

constexpr PlaneStrides plane_strides(int blocks, int tiles) {
  const std::ptrdiff_t block = odd_lines(std::ptrdiff_t{tiles} * 8);
  return {block, odd_lines(blocks * block)};
}

}  // namespace plait::kernels::winograd
