// Packing of weights, and the division of the three tasks' tiles between threads. The inner loops
// are in product_kernels.cpp and gradient_kernels.cpp.
#include "kernels/sparse/sparse_kernels.hpp"

#include <omp.h>

#include "kernels/sparse/kernels.hpp"

namespace plait::kernels::sparse {

namespace {

/// Calls run(range) on every thread, with its share of all tiles of so many panels.
template <class Run>
void shared(const Tiles& tiles, std::int64_t panels, int threads, const Run& run) {
  if (threads == 1) return run(share_of(tiles, panels, 0, 1));  // a team of one is not free
#pragma omp parallel num_threads(threads)
  run(share_of(tiles, panels, omp_get_thread_num(), omp_get_num_threads()));
}

}  // namespace

SparseKernels::SparseKernels(const tensor::SparsePattern& pattern)
    : rows_(pattern.rows), columns_(pattern.columns), layout_(pattern) {}

void SparseKernels::pack(const float* plain, float* physical) const {
  for (const std::int32_t origin : layout_.origin) *physical++ = plain[origin];
}

void SparseKernels::unpack(const float* physical, float* plain) const {
  for (const std::int32_t origin : layout_.origin) plain[origin] = *physical++;
}

void SparseKernels::product(ProductArgs args, int threads) const {
  args.src_features = columns_;
  args.dst_features = rows_;
  shared(layout_.forward, args.panels.count, threads,
         [&](const TileRange& range) { multiply(layout_, args, range); });
}

void SparseKernels::forward(const Panels& panels, const float* weights, const float* bias,
                            const float* src, float* dst, const Activation& activation,
                            int threads) const {
  product({.panels = panels,
           .weights = weights,
           .src = src,
           .dst = dst,
           .bias = bias,
           .activation = activation},
          threads);
}

void SparseKernels::forward_add(const Panels& panels, const float* weights, const float* src,
                                float* dst, const Activation& activation, int threads) const {
  product({.panels = panels,
           .weights = weights,
           .src = src,
           .dst = dst,
           .add = true,
           .activation = activation},
          threads);
}

void SparseKernels::backward_data(const Panels& panels, const float* weights, const float* delta,
                                  float* diff_src, bool add, int threads) const {
  const ProductArgs args{.panels = panels,
                         .src_features = rows_,
                         .dst_features = columns_,
                         .weights = weights,
                         .src = delta,
                         .dst = diff_src,
                         .bias = nullptr,
                         .add = add,
                         .activation = {}};
  shared(layout_.backward_data, panels.count, threads,
         [&](const TileRange& range) { multiply_transposed(layout_, args, range); });
}

void SparseKernels::backward_weights(const Panels& panels, const float* src, const float* delta,
                                     float* diff_weights, float* diff_bias, int threads) const {
  const GradientArgs args{.panels = panels,
                          .src_features = columns_,
                          .dst_features = rows_,
                          .src = src,
                          .delta = delta,
                          .diff_weights = diff_weights,
                          .diff_bias = diff_bias};
  const auto end_of = [&](const TilePosition& position) {
    return position.panel > 0 ? std::ssize(layout_.gradient.tile) : position.tile;
  };
  shared(layout_.gradient, 1, threads, [&](const TileRange& range) {
    sum_gradient(layout_, args, end_of(range.begin), end_of(range.end));
  });
}

}  // namespace plait::kernels::sparse
