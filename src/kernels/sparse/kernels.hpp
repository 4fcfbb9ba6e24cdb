// The single-threaded vector kernels under SparseKernels. Each runs the best version for the
// processor it finds itself on.
#pragma once

#include "kernels/sparse/activation.hpp"
#include "kernels/sparse/layout.hpp"
#include "kernels/sparse/panels.hpp"

namespace plait::kernels::sparse {

/// dst (+)= b + W src, or W^T src.
struct ProductArgs {
  Panels panels;
  std::int64_t src_features = 0;
  std::int64_t dst_features = 0;
  const float* weights = nullptr;
  const float* src = nullptr;
  float* dst = nullptr;
  const float* bias = nullptr;  ///< may be null
  bool add = false;             ///< to dst; without bias
  Activation activation;
};
void multiply(const WeightLayout& layout, const ProductArgs& args, const TileRange& range);
void multiply_transposed(const WeightLayout& layout, const ProductArgs& args,
                         const TileRange& range);

/// diff_weights and diff_bias <- sums over all panels.
struct GradientArgs {
  Panels panels;
  std::int64_t src_features = 0;
  std::int64_t dst_features = 0;
  const float* src = nullptr;
  const float* delta = nullptr;
  float* diff_weights = nullptr;
  float* diff_bias = nullptr;  ///< may be null
};
void sum_gradient(const WeightLayout& layout, const GradientArgs& args, std::int64_t begin_tile,
                  std::int64_t end_tile);

}  // namespace plait::kernels::sparse
