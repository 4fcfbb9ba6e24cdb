// SparseInference: many images through a chain of sparse layers, as in the GraphChallenge: which of
// them have any non-zero output?
//
// A panel of images goes through all layers before the next one begins, so that it stays in the
// second cache while the weights pass by. An image without any non-zero value is dead: it stays so
// through all layers, and may be dropped. Then panels that lost many images are joined.
#pragma once

#include <vector>

#include "kernels/sparse/sparse_kernels.hpp"
#include "tensor/tensor.hpp"

namespace plait::kernels::sparse {

struct InferenceOptions {
  bool drop = true;  ///< dead images
  int threads = 1;
};

struct InferenceResult {
  std::vector<std::int64_t> images;  ///< with any non-zero output, from 0, ascending
  std::int64_t computed = 0;  ///< places for images, summed over the layers; those of dead ones too
  double seconds = 0;
};

class SparseInference {
 public:
  /// One bias for all neurons, at most 0. The GraphChallenge adds it only where z = W y is not 0;
  /// where z is 0, clip(z + bias) is 0 too, so no case is needed.
  SparseInference(const std::vector<tensor::SparseMatrix>& layers, float bias, float ceiling);

  std::int64_t inputs() const { return layers_.front().kernels.columns(); }
  std::int64_t edges() const { return edges_; }  ///< non-zeros of all layers

  /// Rows are images, their elements the pixels that are 1. Equal images with any options.
  InferenceResult run(const tensor::SparsePattern& images, const InferenceOptions& options) const;

 private:
  friend class InferenceThread;

  struct Layer {
    SparseKernels kernels;
    tensor::Tensor weights;
    tensor::Tensor bias;
  };

  std::vector<Layer> layers_;
  std::vector<std::int32_t> place_;  ///< of every input in the first layer's columns
  std::int64_t edges_ = 0;
  std::int64_t features_ = 0;  ///< of the widest layer
  float ceiling_ = 0;
};

}  // namespace plait::kernels::sparse
