// Where this folder is expected to beat oneDNN 2.6's direct AVX2 convolution. Not a model of the
// time: each condition rules out one kind of shape. Those on tiles and channels are from
// measurements on Zen 3 (3x3 with one thread, 5x5 with one and two); the one on padding is from
// counting products, and measured for 5x5 only.
#include <algorithm>

#include "kernels/winograd/convolution.hpp"

namespace plait::kernels::winograd {
namespace {

// Pairs of an output and a tap, along one axis, that are not products with padding.
int pairs_inside(int src, int dst, const ConvolutionShape& shape) {
  int pairs = 0;
  for (int tap = 0; tap < shape.kernel; ++tap) {
    const int first = std::max(0, shape.padding - tap);
    const int last = std::min(dst, src + shape.padding - tap);
    pairs += std::max(0, last - first);
  }
  return pairs;
}

}  // namespace

bool worthwhile(const ConvolutionShape& shape, Pass pass) {
  const Tiling tiling = choose_tiling(shape);
  const Grid grid = make_grid(tiling, shape.batch, {shape.height, shape.width}, shape.padding);
  // With fewer tiles, transforming the weights costs more than is saved.
  if (grid.tiles() < (shape.kernel == 5 ? 8 : 4)) return false;
  // For images lower than the kernel oneDNN has its reference code only, hundreds of times slower.
  const bool low = shape.kernel == 5 && shape.height < shape.kernel;
  if (low && pass == Pass::backward_weights) return true;
  // Direct convolution leaves out the products with padding; tiles that stick out of the image, or
  // contain much padding, save nothing. Rules out images such as 1x1, 1xn, 3x3 and 5x5.
  const int direct = pairs_inside(shape.height, shape.dst_height(), shape) *
                     pairs_inside(shape.width, shape.dst_width(), shape);
  const int products = grid.image_tiles() * positions(tiling);
  if (2 * direct < 3 * products) return false;
  if (shape.kernel == 5) return true;
  // 8 channels in give too little work per result. backward_weights has more work per value read.
  switch (pass) {
    case Pass::forward: return shape.in_channels > 8;
    case Pass::backward_data: return shape.out_channels > 8;
    case Pass::backward_weights: return true;
  }
  return false;
}

}  // namespace plait::kernels::winograd
