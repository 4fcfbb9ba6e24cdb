// Where this folder is expected to beat oneDNN 2.6's direct AVX2 convolution. Not a model of the
// time: each condition rules out one kind of shape. Those on tiles and channels are from
// measurements on Zen 3 (one thread); the one on padding is from counting products, unmeasured.
#include "layers/winograd/convolution.hpp"

namespace plait::winograd {

bool worthwhile(const ConvolutionShape& shape, Task task) {
  const Tiling tiling = choose_tiling(shape);
  const Grid grid = make_grid(tiling, shape.batch, shape.height, shape.width);
  // With fewer tiles, transforming the weights costs more than is saved.
  if (grid.tiles() < 4) return false;
  // Direct convolution leaves out the products with padding; tiles that stick out of the image, or
  // contain much padding, save nothing. Rules out images such as 1x1, 1xn, 3x3 and 5x5.
  const int direct = (3 * shape.height - 2) * (3 * shape.width - 2);
  const int products = grid.rows * grid.cols * positions(tiling);
  if (2 * direct < 3 * products) return false;
  // 8 channels in give too little work per result. backward_weights has more work per value read.
  switch (task) {
    case Task::forward: return shape.in_channels > 8;
    case Task::backward_data: return shape.out_channels > 8;
    case Task::backward_weights: return true;
  }
  return false;
}

}  // namespace plait::winograd
