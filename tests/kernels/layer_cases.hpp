// The layers the twin and the finite-difference tests run on: small, odd shapes of every kind.
#pragma once

#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "base/rng.hpp"
#include "kernels/layer.hpp"
#include "kernels/operation_cases.hpp"

namespace plait::kernels::layer_testing {

inline std::string to_string(Backend backend) {
  return backend == Backend::onednn ? "onednn" : "reference";
}

inline std::vector<LayerCase> convolution_cases() {
  using C = ops::Convolution;
  const ops::Extent2 one{1, 1};
  const ops::Extent2 two{2, 2};
  return {
      {"conv_3x3", C{.out_channels = 7, .padding = one}, {3, 5, 9, 11}},
      {"conv_3x3_valid", C{.out_channels = 5, .bias = false}, {3, 7, 9, 11}},
      {"conv_3x3_wide", C{.out_channels = 20, .padding = one, .bias = false}, {3, 20, 9, 11}},
      {"conv_3x3_blocks", C{.out_channels = 16, .padding = one, .bias = false}, {2, 32, 8, 8}},
      {"conv_3x3_image", C{.out_channels = 16, .padding = one}, {3, 3, 9, 11}},
      {"conv_3x3_stride2", C{.out_channels = 20, .stride = two, .padding = one}, {3, 7, 9, 11}},
      {"conv_3x3_dilated", C{.out_channels = 7, .padding = two, .dilation = two}, {3, 5, 9, 11}},
      {"conv_3x3_groups", C{.out_channels = 10, .padding = one, .groups = 5}, {3, 20, 9, 11}},
      {"conv_depthwise", C{.out_channels = 20, .padding = one, .groups = 20}, {3, 20, 9, 11}},
      {"conv_depthwise_no_bias",
       C{.out_channels = 20, .padding = one, .groups = 20, .bias = false},
       {3, 20, 9, 11}},
      {"conv_depthwise_5x5_stride2",
       C{.out_channels = 10,
         .kernel = {5, 5},
         .stride = two,
         .padding = two,
         .groups = 10,
         .bias = false},
       {3, 10, 9, 11}},
      {"conv_depthwise_7x7",
       C{.out_channels = 16, .kernel = {7, 5}, .padding = {3, 4}, .dilation = {1, 2}, .groups = 16},
       {2, 16, 9, 11}},
      {"conv_1x1", C{.out_channels = 7, .kernel = one}, {3, 20, 9, 11}},
      {"conv_1x1_stride2",
       C{.out_channels = 20, .kernel = one, .stride = two, .bias = false},
       {3, 5, 9, 11}},
      {"conv_5x5", C{.out_channels = 7, .kernel = {5, 5}, .padding = two}, {3, 5, 9, 11}},
      {"conv_5x5_grey", C{.out_channels = 20, .kernel = {5, 5}}, {3, 1, 12, 13}},
      {"conv_5x5_grey_padded",
       C{.out_channels = 7, .kernel = {5, 5}, .stride = two, .padding = two},
       {3, 2, 9, 11}},
      {"conv_grey_dilated",
       C{.out_channels = 9, .kernel = {3, 4}, .padding = {2, 3}, .dilation = two},
       {5, 1, 9, 11}},
      {"conv_wide_kernel_grey",
       C{.out_channels = 9, .kernel = {1, 9}, .bias = false},
       {2, 1, 9, 11}},
      {"conv_5x5_valid", C{.out_channels = 50, .kernel = {5, 5}}, {3, 20, 12, 12}},
      {"conv_7x7_stride2",
       C{.out_channels = 20, .kernel = {7, 7}, .stride = two, .padding = {3, 3}, .bias = false},
       {3, 3, 9, 11}},
      {"conv_uneven",
       C{.out_channels = 7,
         .kernel = {2, 5},
         .stride = {3, 1},
         .padding = {1, 2},
         .dilation = {1, 2}},
       {3, 5, 9, 11}},
      {"conv_single_pixel", C{.out_channels = 7, .padding = one}, {1, 5, 1, 1}},
      {"conv_residual", C{.out_channels = 7, .padding = one}, {3, 5, 9, 11}, false, true},
      {"conv_residual_wide",
       C{.out_channels = 20, .padding = one, .bias = false},
       {3, 20, 9, 11},
       false,
       true},
      {"conv_residual_blocks",
       C{.out_channels = 16, .padding = one, .bias = false},
       {2, 16, 8, 8},
       false,
       true},
      {"conv_residual_1x1_stride2",
       C{.out_channels = 20, .kernel = one, .stride = two, .bias = false},
       {3, 7, 9, 11},
       false,
       true},
  };
}

inline std::vector<LayerCase> other_cases() {
  using A = ops::Activation;
  using K = ops::ActivationKind;
  using P = ops::Pool;
  const tensor::Shape image{3, 5, 9, 11};
  const tensor::Shape wide{3, 20, 9, 11};
  const tensor::Shape flat{5, 13};
  return {
      {"linear", ops::Linear{.out_features = 7}, {3, 20}},
      {"linear_wide", ops::Linear{.out_features = 33}, {5, 67}},
      {"linear_no_bias", ops::Linear{.out_features = 1, .bias = false}, {3, 5}},
      {"linear_one_sample", ops::Linear{.out_features = 10}, {1, 64}},
      {"batch_norm", ops::BatchNorm{}, image},
      {"batch_norm_wide", ops::BatchNorm{.epsilon = 1e-3, .momentum = 0.3}, wide},
      {"batch_norm_blocks", ops::BatchNorm{}, {2, 32, 4, 4}},
      {"batch_norm_flat", ops::BatchNorm{}, flat},
      {"batch_norm_uncentered", ops::BatchNorm{.centered = false}, image},
      {"batch_norm_uncentered_blocks", ops::BatchNorm{.centered = false}, {2, 32, 4, 4}},
      {"batch_norm_uncentered_flat", ops::BatchNorm{.centered = false}, flat},
      {"batch_norm_uncentered_relu", ops::BatchNorm{.centered = false}, wide, true},
      {"batch_norm_relu", ops::BatchNorm{}, image, true},
      {"batch_norm_relu_wide", ops::BatchNorm{}, wide, true},
      {"batch_norm_relu_blocks", ops::BatchNorm{}, {2, 16, 4, 5}, true},
      {"batch_norm_relu_flat", ops::BatchNorm{}, flat, true},
      {"relu", A{K::relu}, image},
      {"relu_wide", A{K::relu}, wide},
      {"relu_flat", A{K::relu}, flat},
      {"tanh", A{K::tanh}, image},
      {"tanh_flat", A{K::tanh}, flat},
      {"sigmoid", A{K::sigmoid}, wide},
      {"sigmoid_flat", A{K::sigmoid}, flat},
      {"gelu", A{K::gelu}, image},
      {"gelu_flat", A{K::gelu}, flat},
      {"clip", A{K::clip, 0.6}, image},
      {"clip_wide", A{K::clip, 0.6}, wide},
      {"clip_flat", A{K::clip, 0.6}, flat},
      {"clip_edge", A{K::clip, 1}, image},  // ties lie on the ceiling
      {"leaky_relu", A{.kind = K::leaky_relu}, image},
      {"leaky_relu_wide", A{.kind = K::leaky_relu, .slope = 0.2}, wide},
      {"leaky_relu_flat", A{.kind = K::leaky_relu, .slope = 0.2}, flat},
      {"leaky_relu_none", A{.kind = K::leaky_relu, .slope = 0}, image},
      {"silu", A{K::silu}, image},
      {"silu_wide", A{K::silu}, wide},
      {"silu_flat", A{K::silu}, flat},
      {"max_pool", P{}, image},
      {"max_pool_ceil", P{.ceil_mode = true}, image},
      {"max_pool_ceil_wide", P{.kernel = {3, 3}, .ceil_mode = true}, {3, 20, 8, 10}},
      {"max_pool_ceil_padded",
       P{.kernel = {3, 3}, .stride = {2, 2}, .padding = {1, 1}, .ceil_mode = true},
       {3, 20, 6, 11}},
      {"max_pool_apart_padded",
       P{.kernel = {3, 3}, .stride = {3, 3}, .padding = {1, 1}},
       {3, 20, 9, 12}},
      {"max_pool_overlap", P{.kernel = {3, 3}, .padding = {1, 1}}, wide},
      {"max_pool_uneven", P{.kernel = {3, 2}, .stride = {1, 2}, .padding = {1, 0}}, image},
      {"average_pool", P{.kind = ops::PoolKind::average}, image},
      {"average_pool_padded",
       P{.kind = ops::PoolKind::average, .kernel = {3, 3}, .stride = {2, 2}, .padding = {1, 1}},
       wide},
      {"average_pool_not_counted",
       P{.kind = ops::PoolKind::average,
         .kernel = {3, 3},
         .stride = {2, 2},
         .padding = {1, 1},
         .count_include_pad = false},
       wide},
      {"average_pool_ceil", P{.kind = ops::PoolKind::average, .ceil_mode = true}, image},
      {"average_pool_ceil_padded",
       P{.kind = ops::PoolKind::average,
         .kernel = {3, 3},
         .stride = {2, 2},
         .padding = {1, 1},
         .ceil_mode = true},
       {3, 20, 6, 10}},
      {"average_pool_ceil_one_way",
       P{.kind = ops::PoolKind::average,
         .kernel = {4, 3},
         .stride = {3, 2},
         .padding = {1, 0},
         .ceil_mode = true},
       {3, 5, 9, 10}},
      {"average_pool_ceil_not_counted",
       P{.kind = ops::PoolKind::average,
         .kernel = {3, 3},
         .stride = {2, 2},
         .padding = {1, 1},
         .ceil_mode = true,
         .count_include_pad = false},
       {3, 20, 6, 10}},
      {"average_pool_ceil_large",
       P{.kind = ops::PoolKind::average,
         .kernel = {9, 8},
         .stride = {4, 5},
         .padding = {2, 1},
         .ceil_mode = true},
       {3, 20, 12, 14}},
      {"global_average_pool", ops::GlobalAveragePool{}, image},
      {"global_average_pool_wide", ops::GlobalAveragePool{}, wide},
      {"dropout", ops::Dropout{.probability = 0.3}, image},
      {"dropout_wide", ops::Dropout{}, wide},
      {"dropout_flat", ops::Dropout{.probability = 0.9}, flat},
      {"flatten", ops::Flatten{}, image},
      {"flatten_wide", ops::Flatten{}, wide},
      {"flatten_pixel", ops::Flatten{}, {3, 20, 1, 1}},
      {"add", ops::Add{}, image},
      {"add_wide", ops::Add{}, wide},
      {"add_flat", ops::Add{}, flat},
  };
}

/// Random places; row 2 and column 3 are empty where there are gaps.
inline ops::SparseLinear sparse(std::int64_t rows, std::int64_t columns, double density,
                                bool bias = true, bool gaps = true) {
  std::vector<tensor::MatrixEntry> entries;
  Rng rng(20212, Purpose::test, static_cast<std::uint64_t>(rows * 1000 + columns));
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < columns; ++j) {
      const bool there = rng.uniform(0.0F, 1.0F) < static_cast<float>(density);
      if (there && !(gaps && (i == 2 || j == 3))) entries.push_back({i, j, 0});
    }
  }
  return {
      .pattern = tensor::make_sparse_matrix(rows, columns, std::move(entries), "made up").pattern,
      .bias = bias};
}

/// In panels, but for the plain-loop twins.
inline std::vector<LayerCase> panel_cases() {
  using A = ops::Activation;
  using K = ops::ActivationKind;
  return {
      {"sparse", sparse(7, 20, 0.3), {3, 20}},
      {"sparse_wide", sparse(33, 67, 0.2), {5, 67}},
      {"sparse_all", sparse(17, 19, 1), {16, 19}},
      {"sparse_no_bias", sparse(9, 12, 0.4, false), {64, 12}},
      {"sparse_one_sample", sparse(10, 64, 0.1), {1, 64}},
      {"sparse_two_panels", sparse(12, 15, 0.3), {100, 15}},
      {"sparse_relu", sparse(12, 15, 0.3), {5, 15}, false, false, A{K::relu}},
      {"sparse_tanh", sparse(12, 15, 0.3), {100, 15}, false, false, A{K::tanh}},
      {"sparse_clip", sparse(12, 15, 0.3), {64, 15}, false, false, A{K::clip, 0.4}},
      {"panels_relu", A{K::relu}, {5, 13}},
      {"panels_tanh", A{K::tanh}, {65, 13}},
      {"panels_sigmoid", A{K::sigmoid}, {5, 13}},
      {"panels_gelu", A{K::gelu}, {33, 3}},
      {"panels_clip", A{K::clip, 0.6}, {100, 7}},
      {"panels_leaky_relu", A{.kind = K::leaky_relu, .slope = 0.2}, {33, 7}},
      {"panels_silu", A{K::silu}, {65, 3}},
      {"panels_hard_sigmoid", A{K::hard_sigmoid}, {65, 3}},
      {"panels_hard_swish", A{K::hard_swish}, {33, 7}},
  };
}

inline std::vector<LayerCase> layer_cases() {
  std::vector<LayerCase> all = convolution_cases();
  for (LayerCase& other : other_cases()) all.push_back(std::move(other));
  for (LayerCase& other : operation_cases()) all.push_back(std::move(other));
  return all;
}

inline std::ostream& operator<<(std::ostream& out, const LayerCase& layer_case) {
  return out << layer_case.name;
}

/// The request of a case with its source in `layout`. The skip of a residual lies as the backend's
/// own dst would without it.
inline LayerRequest request_of(const LayerCase& layer_case, tensor::Layout layout,
                               Backend backend) {
  LayerRequest request{.spec = layer_case.spec,
                       .srcs = {{.shape = layer_case.src, .layout = layout}},
                       .relu = layer_case.relu,
                       .residual = false,
                       .activation = layer_case.activation,
                       .threads = 1,
                       .name = "block." + layer_case.name};
  if (layer_case.residual) {
    request.srcs.push_back(make_layer(request, backend)->dst_desc());
    request.residual = true;
  }
  if (std::holds_alternative<ops::Add>(layer_case.spec)) request.srcs.push_back(request.srcs[0]);
  return request;
}

}  // namespace plait::kernels::layer_testing
