// Layer cases of the operations that are computed by plain loops or on the kernels of others.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "layers/layer.hpp"

namespace plait::layers::layer_testing {

/// `src` is a batch shape; a second source, where the layer takes one, has the shape of dst.
struct LayerCase {
  std::string name;
  ops::Operation spec;
  tensor::Shape src;
  bool relu = false;
  bool residual = false;
  std::optional<ops::Activation> activation{};  ///< fused into the forward of a sparse linear
};

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
  return all;
}

}  // namespace plait::layers::layer_testing
