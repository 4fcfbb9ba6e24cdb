// The single-threaded vector kernels that run_data.cpp and run_weights.cpp put together. Each runs
// the best version for the processor it finds itself on. Pointers are to floats; strides are in
// floats.
//
// Transformed tensors are planes (see tiling.hpp). Transformed weights are panels:
// (positions, column blocks, k, 8 columns), where k and columns are in and out channels in the
// forward direction and out and in channels in the backward one.
#pragma once

#include <cstddef>

#include "kernels/winograd/tiling.hpp"

namespace plait::kernels::winograd {

// A range of tiles of one block of 8 channels of a tensor in nChw8c.
struct TileSpan {
  int blocks;  // of the tensor
  int block;   // which one
  int first;   // tiles first .. last - 1
  int last;
};

// planes[position * plane + (tile - first) * 8 + lane] = B^T d B.
void transform_src(Tiling tiling, const Grid& grid, const float* src, const TileSpan& span,
                   float* planes, std::ptrdiff_t plane);

// As above with A d A^T; adds the sum of the span's values to bias_sum[0..7] unless that is null.
void transform_diff_dst(Tiling tiling, const Grid& grid, const float* diff_dst,
                        const TileSpan& span, float* planes, std::ptrdiff_t plane, float* bias_sum);

// dst = A^T planes A (+ bias[0..7], unless null).
void transform_dst(Tiling tiling, const Grid& grid, const float* planes, std::ptrdiff_t plane,
                   const TileSpan& span, const float* bias, float* dst);

// Adds B planes B^T to diff_src, zeroing rows when it gets to the first tile that adds to them; so
// the tiles of an image must come in order. Tilings for 5x5 only.
void add_diff_src(Tiling tiling, const Grid& grid, const float* planes, std::ptrdiff_t plane,
                  const TileSpan& span, float* diff_src);

// panel = G g G^T of one block of 8 x 8 weights (kernel, kernel, 8 in, 8 out):
// panel[position * plane + in * 8 + out] for forward, [position * plane + out * 8 + in] otherwise,
// with the kernel turned by 180 degrees for Method::turned.
void transform_weights(Tiling tiling, Method method, const float* weights, float* panel,
                       std::ptrdiff_t plane);

// diff_weights = G^T (sum of panels) G of one block of 8 x 8 weights, for `count` panels, `stride`
// apart.
void transform_diff_weights(Tiling tiling, const float* panels, std::ptrdiff_t plane, int count,
                            std::ptrdiff_t stride, float* diff_weights);

// c = a b: a is `rows` tiles of k_blocks blocks, c is `rows` tiles of col_blocks blocks, b is
// (col_blocks, k_blocks * 8, 8).
void multiply(const float* a, std::ptrdiff_t a_block, int rows, int k_blocks, const float* b,
              int col_blocks, float* c, std::ptrdiff_t c_block);

// c = a^T b, or c += a^T b if accumulate: a is `tiles` tiles of row_blocks blocks, b is `tiles`
// tiles of col_blocks blocks, c is (col_blocks, row_blocks * 8, 8) with c_block between column
// blocks.
void multiply_transposed(const float* a, std::ptrdiff_t a_block, int row_blocks, const float* b,
                         std::ptrdiff_t b_block, int col_blocks, int tiles, float* c,
                         std::ptrdiff_t c_block, bool accumulate);

}  // namespace plait::kernels::winograd
