// The weight gradient of depthwise convolutions in blocks of channels, where oneDNN has no kernel
// for it and would multiply matrices: windows of 5x5 and more.
#pragma once

#include "ops/convolution.hpp"
#include "tensor/tensor.hpp"

namespace plait::kernels::simd {

struct DepthwiseShape {
  tensor::TensorDesc src;
  tensor::TensorDesc dst;
  ops::Convolution convolution;
};

/// Whether it is a depthwise convolution on blocks of channels with few enough weights for each.
bool depthwise_takes(const DepthwiseShape& shape);

struct DepthwiseArgs {
  const float* src;
  const float* diff_dst;
  float* diff_weights;  ///< [blocks][kernel height][kernel width][block]
  float* diff_bias;     ///< null: it has none
};

/// No sum is split between threads: the same bits for any number of them.
void depthwise_backward_weights(const DepthwiseShape& shape, const DepthwiseArgs& args,
                                int threads);

}  // namespace plait::kernels::simd
