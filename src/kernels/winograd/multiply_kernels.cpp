// The matrix products of one position: multiply and multiply_transposed of kernels.hpp. Each keeps
// a tile of 6 rows x 2 blocks, or 4 x 3 to end an odd number of blocks, of the result in registers:
// 12 accumulators hide the latency of fused multiply-add on two ports, and with the operands they
// fill the 16 registers of AVX2. Sums are over k, or tiles, in order: they do not depend on the
// cut.
#include <algorithm>

#include "kernels/winograd/kernels.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/winograd/multiply_kernels.cpp"
#include "hwy/foreach_target.h"
// After foreach_target.h.
#include "hwy/highway.h"
#include "kernels/winograd/lanes-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace plait::kernels::winograd {
namespace HWY_NAMESPACE {

// Rows that are taken at once with so many columns.
constexpr int most_rows(int cols) { return cols == 3 ? 4 : 6; }

// kRows tiles x kCols blocks of c = a b.
template <int kRows, int kCols>
void tile_product(const float* HWY_RESTRICT a, std::ptrdiff_t a_block, int k_blocks,
                  const float* HWY_RESTRICT b, std::ptrdiff_t b_block, float* HWY_RESTRICT c,
                  std::ptrdiff_t c_block) {
  Lanes sum[kRows][kCols];
  HWY_UNROLL(6)
  for (int r = 0; r < kRows; ++r) {
    HWY_UNROLL(3)
    for (int j = 0; j < kCols; ++j) sum[r][j] = set(0.0f);
  }
  for (int k = 0; k < k_blocks; ++k, a += a_block, b += 64) {
    HWY_UNROLL(8)
    for (int lane = 0; lane < 8; ++lane) {
      Lanes right[kCols];
      HWY_UNROLL(3)
      for (int j = 0; j < kCols; ++j) right[j] = load(b + j * b_block + lane * 8);
      HWY_UNROLL(6)
      for (int r = 0; r < kRows; ++r) {
        const Lanes left = set(a[r * 8 + lane]);
        HWY_UNROLL(3)
        for (int j = 0; j < kCols; ++j) sum[r][j] = mul_add(left, right[j], sum[r][j]);
      }
    }
  }
  HWY_UNROLL(3)
  for (int j = 0; j < kCols; ++j) {
    HWY_UNROLL(6)
    for (int r = 0; r < kRows; ++r) store(sum[r][j], c + j * c_block + r * 8);
  }
}

template <int kCols>
void tile_product_rows(int rows, const float* a, std::ptrdiff_t a_block, int k_blocks,
                       const float* b, std::ptrdiff_t b_block, float* c, std::ptrdiff_t c_block) {
  constexpr int kMost = most_rows(kCols);
  for (; rows >= kMost; rows -= kMost, a += kMost * 8, c += kMost * 8) {
    tile_product<kMost, kCols>(a, a_block, k_blocks, b, b_block, c, c_block);
  }
  switch (rows) {
    case 1: return tile_product<1, kCols>(a, a_block, k_blocks, b, b_block, c, c_block);
    case 2: return tile_product<2, kCols>(a, a_block, k_blocks, b, b_block, c, c_block);
    case 3: return tile_product<3, kCols>(a, a_block, k_blocks, b, b_block, c, c_block);
    case 4: return tile_product<4, kCols>(a, a_block, k_blocks, b, b_block, c, c_block);
    case 5: return tile_product<5, kCols>(a, a_block, k_blocks, b, b_block, c, c_block);
    default: return;
  }
}

// Column blocks go in groups of 4, the last one of at most 5: those of b stay in the L2 cache for
// all rows, and rows of a in the L1 cache for the group.
void multiply_all(const float* a, std::ptrdiff_t a_block, int rows, int k_blocks, const float* b,
                  int col_blocks, float* c, std::ptrdiff_t c_block) {
  constexpr int kRowStep = 12;
  const std::ptrdiff_t b_block = std::ptrdiff_t{64} * k_blocks;
  for (int group = 0, group_end; group < col_blocks; group = group_end) {
    group_end = col_blocks - group <= 5 ? col_blocks : group + 4;
    for (int row = 0; row < rows; row += kRowStep) {
      const int count = std::min(kRowStep, rows - row);
      for (int j = group; j < group_end;) {
        const float* a_at = a + row * 8;
        const float* b_at = b + j * b_block;
        float* c_at = c + j * c_block + row * 8;
        if (group_end - j == 3) {
          tile_product_rows<3>(count, a_at, a_block, k_blocks, b_at, b_block, c_at, c_block);
          j += 3;
        } else if (group_end - j == 1) {
          tile_product_rows<1>(count, a_at, a_block, k_blocks, b_at, b_block, c_at, c_block);
          j += 1;
        } else {
          tile_product_rows<2>(count, a_at, a_block, k_blocks, b_at, b_block, c_at, c_block);
          j += 2;
        }
      }
    }
  }
}

// Rows row .. row + kRows - 1 x kCols blocks of c (+)= a^T b.
template <int kRows, int kCols>
void transposed_product(const float* a, std::ptrdiff_t a_block, int row,
                        const float* HWY_RESTRICT b, std::ptrdiff_t b_block, int tiles,
                        float* HWY_RESTRICT c, std::ptrdiff_t c_block, bool accumulate) {
  const float* left_row[kRows];
  for (int r = 0; r < kRows; ++r) {
    const std::ptrdiff_t at = row + r;
    left_row[r] = a + (at >> 3) * a_block + (at & 7);
  }
  Lanes sum[kRows][kCols];
  HWY_UNROLL(6)
  for (int r = 0; r < kRows; ++r) {
    HWY_UNROLL(3)
    for (int j = 0; j < kCols; ++j) {
      sum[r][j] = accumulate ? load(c + j * c_block + (row + r) * 8) : set(0.0f);
    }
  }
  const std::ptrdiff_t end = std::ptrdiff_t{8} * tiles;
  for (std::ptrdiff_t t = 0; t < end; t += 8) {
    Lanes right[kCols];
    HWY_UNROLL(3)
    for (int j = 0; j < kCols; ++j) right[j] = load(b + j * b_block + t);
    HWY_UNROLL(6)
    for (int r = 0; r < kRows; ++r) {
      const Lanes left = set(left_row[r][t]);
      HWY_UNROLL(3)
      for (int j = 0; j < kCols; ++j) sum[r][j] = mul_add(left, right[j], sum[r][j]);
    }
  }
  HWY_UNROLL(3)
  for (int j = 0; j < kCols; ++j) {
    HWY_UNROLL(6)
    for (int r = 0; r < kRows; ++r) store(sum[r][j], c + j * c_block + (row + r) * 8);
  }
}

// The number of rows is a multiple of 8, so that steps of 6 and at most two of 4 cover it.
template <int kCols>
void transposed_columns(const float* a, std::ptrdiff_t a_block, int rows, const float* b,
                        std::ptrdiff_t b_block, int tiles, float* c, std::ptrdiff_t c_block,
                        bool accumulate) {
  int row = 0;
  if constexpr (most_rows(kCols) == 6) {
    for (; rows - row >= 12 || rows - row == 6; row += 6) {
      transposed_product<6, kCols>(a, a_block, row, b, b_block, tiles, c, c_block, accumulate);
    }
    if (rows - row == 10) {
      transposed_product<6, kCols>(a, a_block, row, b, b_block, tiles, c, c_block, accumulate);
      row += 6;
    }
  }
  for (; row < rows; row += 4) {
    transposed_product<4, kCols>(a, a_block, row, b, b_block, tiles, c, c_block, accumulate);
  }
}

void multiply_transposed_all(const float* a, std::ptrdiff_t a_block, int row_blocks, const float* b,
                             std::ptrdiff_t b_block, int col_blocks, int tiles, float* c,
                             std::ptrdiff_t c_block, bool accumulate) {
  const int rows = row_blocks * 8;
  int j = 0;
  for (; j + 2 == col_blocks || j + 4 <= col_blocks; j += 2) {
    transposed_columns<2>(a, a_block, rows, b + j * b_block, b_block, tiles, c + j * c_block,
                          c_block, accumulate);
  }
  if (j + 3 == col_blocks) {
    transposed_columns<3>(a, a_block, rows, b + j * b_block, b_block, tiles, c + j * c_block,
                          c_block, accumulate);
  } else if (j < col_blocks) {
    transposed_columns<1>(a, a_block, rows, b + j * b_block, b_block, tiles, c + j * c_block,
                          c_block, accumulate);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace plait::kernels::winograd
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace plait::kernels::winograd {

HWY_EXPORT(multiply_all);
HWY_EXPORT(multiply_transposed_all);

void multiply(const float* a, std::ptrdiff_t a_block, int rows, int k_blocks, const float* b,
              int col_blocks, float* c, std::ptrdiff_t c_block) {
  HWY_DYNAMIC_DISPATCH(multiply_all)(a, a_block, rows, k_blocks, b, col_blocks, c, c_block);
}

void multiply_transposed(const float* a, std::ptrdiff_t a_block, int row_blocks, const float* b,
                         std::ptrdiff_t b_block, int col_blocks, int tiles, float* c,
                         std::ptrdiff_t c_block, bool accumulate) {
  HWY_DYNAMIC_DISPATCH(multiply_transposed_all)
  (a, a_block, row_blocks, b, b_block, col_blocks, tiles, c, c_block, accumulate);
}

}  // namespace plait::kernels::winograd
#endif  // HWY_ONCE
