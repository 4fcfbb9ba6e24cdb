// The tilings of an image and the grid of tiles they give. A tiling turns each tile of output, with
// the input it needs, into `positions` independent products (see transforms-inl.hpp).
#pragma once

#include <cstddef>

namespace plait::winograd {

enum class Tiling {
  f2,        // F(2x2, 3x3): 16 products for 4 outputs
  f4,        // F(4x4, 3x3): 36 products for 16 outputs
  image2x2,  // whole images of at most 2x2, padding being known to be zero: 9 products
};

constexpr int tile_size(Tiling tiling) { return tiling == Tiling::f4 ? 4 : 2; }

constexpr int positions(Tiling tiling) {
  return tiling == Tiling::f4 ? 36 : tiling == Tiling::f2 ? 16 : 9;
}

// Images cut into rows x cols tiles. Tiles are numbered image by image, row by row.
struct Grid {
  int batch;
  int height;
  int width;
  int rows;
  int cols;

  constexpr int tiles() const { return batch * rows * cols; }
};

constexpr Grid make_grid(Tiling tiling, int batch, int height, int width) {
  const int m = tile_size(tiling);
  return {batch, height, width, (height + m - 1) / m, (width + m - 1) / m};
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
  const std::ptrdiff_t lines = (floats + line - 1) / line;
  return (lines | 1) * line;
}

constexpr PlaneStrides plane_strides(int blocks, int tiles) {
  const std::ptrdiff_t block = odd_lines(std::ptrdiff_t{tiles} * 8);
  return {block, odd_lines(blocks * block)};
}

}  // namespace plait::winograd
