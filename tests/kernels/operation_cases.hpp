// Layer cases of the operations that are computed by plain loops or on the kernels of others.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kernels/layer.hpp"

namespace plait::kernels::layer_testing {

/// `src` is a batch shape; a second source, where the layer takes one, has the shape of dst.
struct LayerCase {
  std::string name;
  ops::Operation spec;
  tensor::Shape src;
  bool relu = false;
  bool residual = false;
  std::optional<ops::Activation> activation{};  ///< fused into the forward of a sparse linear
};

inline std::vector<LayerCase> transposed_cases() {
  using T = ops::TransposedConvolution;
  const ops::Extent2 one{1, 1};
  const ops::Extent2 two{2, 2};
  return {
      {"transposed", T{.out_channels = 7}, {3, 5, 4, 6}},
      {"transposed_stride2", T{.out_channels = 20, .stride = two, .bias = false}, {3, 7, 4, 6}},
      {"transposed_blocks", T{.out_channels = 16, .stride = two}, {2, 32, 4, 4}},
      {"transposed_to_image",
       T{.out_channels = 3, .kernel = {4, 4}, .stride = two, .padding = one},
       {2, 20, 5, 4}},
      {"transposed_uneven",
       T{.out_channels = 18,
         .kernel = {3, 5},
         .stride = {3, 2},
         .padding = {1, 2},
         .output_padding = {2, 1},
         .groups = 2},
       {3, 20, 4, 3}},
      {"transposed_depthwise",
       T{.out_channels = 20, .kernel = {4, 4}, .stride = two, .padding = one, .groups = 20},
       {3, 20, 4, 5}},
  };
}

inline std::vector<LayerCase> sequence_cases() {
  using C = ops::Convolution1d;
  return {
      {"sequence", C{.out_channels = 7, .padding = 1}, {3, 5, 13}},
      {"sequence_wide", C{.out_channels = 33, .kernel = 5, .stride = 2}, {3, 20, 17}},
      {"sequence_blocks", C{.out_channels = 32, .padding = 1, .bias = false}, {2, 16, 16}},
      {"sequence_dilated",
       C{.out_channels = 10, .kernel = 4, .padding = 3, .dilation = 2, .groups = 5},
       {3, 20, 11}},
      {"sequence_relu", ops::Activation{ops::ActivationKind::relu}, {3, 5, 13}},
      {"sequence_tanh", ops::Activation{ops::ActivationKind::tanh}, {3, 5, 13}},
      {"sequence_batch_norm", ops::BatchNorm{}, {3, 5, 13}},
      {"sequence_batch_norm_relu", ops::BatchNorm{}, {3, 18, 6}, true},
      {"sequence_dropout", ops::Dropout{.probability = 0.3}, {3, 5, 13}},
      {"sequence_flatten", ops::Flatten{}, {3, 5, 13}},
      {"sequence_linear", ops::Linear{.out_features = 7}, {3, 5, 13}},
      {"sequence_linear_wide", ops::Linear{.out_features = 33, .bias = false}, {2, 16, 48}},
  };
}

inline std::vector<LayerCase> operation_cases() {
  using A = ops::Activation;
  using K = ops::ActivationKind;
  const tensor::Shape image{3, 5, 9, 11};
  const tensor::Shape wide{3, 20, 9, 11};
  const tensor::Shape flat{5, 13};
  const auto bilinear = ops::UpsampleKind::bilinear;
  std::vector<LayerCase> all{
      {"upsample", ops::Upsample{}, image},
      {"upsample_uneven", ops::Upsample{.scale = {1, 3}}, wide},
      {"upsample_bilinear", ops::Upsample{.kind = bilinear}, image},
      {"upsample_bilinear_uneven", ops::Upsample{.kind = bilinear, .scale = {3, 1}}, wide},
      {"slice", ops::Slice{.start = 2, .length = 2}, image},
      {"slice_all", ops::Slice{.start = 0, .length = 20}, wide},
      {"slice_rows", ops::Slice{.start = 1, .length = 5, .axis = 1}, image},
      {"slice_columns", ops::Slice{.start = 9, .length = 2, .axis = 2}, wide},
      {"slice_flat", ops::Slice{.start = 10, .length = 3}, flat},
      {"channel_shuffle", ops::ChannelShuffle{.groups = 4}, wide},
      {"channel_shuffle_pairs", ops::ChannelShuffle{.groups = 2}, {1, 6, 1, 3}},
      {"layer_norm", ops::LayerNorm{}, flat},
      {"layer_norm_wide", ops::LayerNorm{.epsilon = 1e-3}, {9, 133}},
      {"layer_norm_image", ops::LayerNorm{.dims = 3}, image},
      {"layer_norm_rows", ops::LayerNorm{.dims = 2, .affine = false}, wide},
      {"adaptive_average_pool", ops::AdaptiveAveragePool{.output = {4, 7}}, image},
      {"adaptive_average_pool_larger", ops::AdaptiveAveragePool{.output = {12, 2}}, wide},
      {"hard_sigmoid", A{K::hard_sigmoid}, image},
      {"hard_sigmoid_wide", A{K::hard_sigmoid}, wide},
      {"hard_sigmoid_flat", A{K::hard_sigmoid}, flat},
      {"hard_swish", A{K::hard_swish}, image},
      {"hard_swish_wide", A{K::hard_swish}, wide},
      {"hard_swish_flat", A{K::hard_swish}, flat},
  };
  for (LayerCase& one : transposed_cases()) all.push_back(std::move(one));
  for (LayerCase& one : sequence_cases()) all.push_back(std::move(one));
  return all;
}

}  // namespace plait::kernels::layer_testing
