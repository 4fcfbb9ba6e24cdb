// 3x3 and 5x5 convolution with stride 1 in fp32 for training, computed with Winograd's minimal
// filtering: the public interface of this folder.
//
// Not here: any other kernel size, stride or type; choosing between this and oneDNN (but
// see worthwhile()).
#pragma once

#include <cstddef>

#include "kernels/winograd/plan.hpp"

namespace plait::kernels::winograd {

// Tensors and their layouts, all fp32, all 64-byte aligned:
//   src, diff_src   (batch, in_channels / 8, height, width, 8)    oneDNN's nChw8c
//   dst, diff_dst   (batch, out_channels / 8, dst height, dst width, 8)   oneDNN's nChw8c
//   weights, diff_weights   (out_channels / 8, in_channels / 8, kernel, kernel, 8 in, 8 out)
//                           oneDNN's OIhw8i8o; pack_weights() makes it from plain oihw
//   bias, diff_bias (out_channels)
//
// in_channels and out_channels are multiples of 8; height, width, batch and the sizes of dst are at
// least 1; kernel is 3 or 5, padding 0 .. kernel - 1. An out channel whose weights, bias and
// diff_dst are zero gives exact zeros, and so does an in channel whose weights and src are zero.
//
// Equal shape, threads, machine and inputs give bit-identical results. Nothing is allocated and no
// state is kept between calls: one object may be used by several threads at once, each with its own
// scratch, and layers that run one after the other may share a scratch.
class Convolution {
 public:
  // Plans the blocking from shape and threads only. Throws std::invalid_argument if the shape is
  // not as described above or threads < 1.
  explicit Convolution(const ConvolutionShape& shape, int threads);

  // As above with the tiling given, for tests and measurements. Throws std::invalid_argument if
  // the tiling is for another kernel size, and for Tiling::image2x2 unless padding is 1 and height
  // and width are at most 2.
  Convolution(const ConvolutionShape& shape, int threads, Tiling tiling);

  const ConvolutionShape& shape() const { return shape_; }
  Tiling tiling() const { return tiling_; }

  // Bytes that `scratch` must have for the task, respectively for every task.
  std::size_t scratch_bytes(Pass pass) const;
  std::size_t scratch_bytes() const;

  // dst = src * weights (+ bias, unless null).
  void forward(const float* src, const float* weights, const float* bias_or_null, float* dst,
               void* scratch) const;

  // diff_src = gradient of <dst, diff_dst> with respect to src.
  void backward_data(const float* diff_dst, const float* weights, float* diff_src,
                     void* scratch) const;

  // diff_weights, diff_bias = gradients of <dst, diff_dst>; overwritten, not accumulated.
  void backward_weights(const float* src, const float* diff_dst, float* diff_weights,
                        float* diff_bias_or_null, void* scratch) const;

 private:
  ConvolutionShape shape_;
  int threads_;
  Tiling tiling_;
  DataPlan forward_;
  DataPlan backward_data_;
  WeightsPlan backward_weights_;
};

// Whether the task is expected to be faster here than in oneDNN's direct AVX2 convolution. A fixed
// rule by shape, partly from measurements on Zen 3 (see worthwhile.cpp).
bool worthwhile(const ConvolutionShape& shape, Pass pass);

// Number of floats in weights: kernel^2 * in_channels * out_channels.
std::size_t weights_size(const ConvolutionShape& shape);

// Copies plain oihw weights (out_channels, in_channels, kernel, kernel) to the layout above, and
// back.
void pack_weights(const ConvolutionShape& shape, const float* oihw, float* weights);
void unpack_weights(const ConvolutionShape& shape, const float* weights, float* oihw);

}  // namespace plait::kernels::winograd
