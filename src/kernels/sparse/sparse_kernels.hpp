// SparseKernels: the three tasks of a sparse linear layer, z = W x + b, on panels.
//
// Built once per pattern and never changed, so threads may share it. Weights and their gradients
// are flat arrays of weights_size() floats in an order of their own (layout.hpp); pack and unpack
// convert from and to the pattern's. Every sum has one order, whatever the number of threads: equal
// bits.
#pragma once

#include "kernels/sparse/activation.hpp"
#include "kernels/sparse/layout.hpp"
#include "kernels/sparse/panels.hpp"

namespace plait::kernels::sparse {

struct ProductArgs;

class SparseKernels {
 public:
  explicit SparseKernels(const tensor::SparsePattern& pattern);

  std::int64_t rows() const { return rows_; }
  std::int64_t columns() const { return columns_; }
  std::int64_t weights_size() const { return static_cast<std::int64_t>(layout_.origin.size()); }
  const WeightLayout& layout() const { return layout_; }

  /// physical <- plain, one float per element of the pattern, and back.
  void pack(const float* plain, float* physical) const;
  void unpack(const float* physical, float* plain) const;

  /// dst <- f(b + W src); bias may be null. src has columns() features, dst rows().
  void forward(const Panels& panels, const float* weights, const float* bias, const float* src,
               float* dst, const Activation& activation, int threads) const;
  /// dst <- f(dst + W src)
  void forward_add(const Panels& panels, const float* weights, const float* src, float* dst,
                   const Activation& activation, int threads) const;
  /// diff_src <- W^T delta, or diff_src + W^T delta.
  void backward_data(const Panels& panels, const float* weights, const float* delta,
                     float* diff_src, bool add, int threads) const;
  /// diff_weights <- sum over samples of delta src^T at the pattern's places, diff_bias <- sum of
  /// delta; diff_bias may be null.
  void backward_weights(const Panels& panels, const float* src, const float* delta,
                        float* diff_weights, float* diff_bias, int threads) const;

 private:
  /// Forward in either form; the sizes are filled in here.
  void product(ProductArgs args, int threads) const;

  std::int64_t rows_;
  std::int64_t columns_;
  WeightLayout layout_;
};

}  // namespace plait::kernels::sparse
