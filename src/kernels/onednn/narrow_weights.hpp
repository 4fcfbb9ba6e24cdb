// backward_weights for images with few channels: our own sums, then oneDNN's layout of the weights.
#pragma once

#include <optional>

#include "kernels/layer.hpp"
#include "kernels/onednn/kernel.hpp"
#include "kernels/simd/narrow_convolution.hpp"

namespace plait::kernels::onednn {

class NarrowWeights {
 public:
  /// `weights`: the layout the gradient is wanted in.
  NarrowWeights(const simd::NarrowShape& shape, const Md& weights, int threads);

  std::size_t scratch_bytes() const;
  /// diff_bias may be null; otherwise it has room for whole blocks of 8.
  void run(const LayerArgs& args, float* diff_bias);

 private:
  simd::NarrowShape shape_;
  int threads_;
  std::size_t sums_offset_ = 0;
  std::size_t reorder_offset_ = 0;
  Kernel reorder_;
};

}  // namespace plait::kernels::onednn
