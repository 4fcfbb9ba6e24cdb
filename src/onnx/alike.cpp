// Comparison of layers, kind by kind.
#include "onnx/alike.hpp"

#include <utility>

namespace plait::onnx {

bool alike(const ops::Operation& ours, const ops::Operation& theirs, const tensor::Shape& src) {
  if (const auto* sparse = std::get_if<ops::SparseLinear>(&ours)) {
    const auto* linear = std::get_if<ops::Linear>(&theirs);
    return linear != nullptr && linear->out_features == sparse->pattern->rows;
  }
  if (ours.index() != theirs.index()) return false;
  if (const auto* conv = std::get_if<ops::Convolution>(&ours)) {
    ops::Convolution other = std::get<ops::Convolution>(theirs);
    other.bias = conv->bias;
    other.initial_scale = conv->initial_scale;
    return other == *conv;
  }
  if (const auto* conv = std::get_if<ops::TransposedConvolution>(&ours)) {
    ops::TransposedConvolution other = std::get<ops::TransposedConvolution>(theirs);
    other.bias = conv->bias;
    return other == *conv;
  }
  if (const auto* conv = std::get_if<ops::Convolution1d>(&ours)) {
    ops::Convolution1d other = std::get<ops::Convolution1d>(theirs);
    other.bias = conv->bias;
    return other == *conv;
  }
  if (const auto* norm = std::get_if<ops::LayerNorm>(&ours)) {
    const auto& other = std::get<ops::LayerNorm>(theirs);
    return norm->dims == other.dims &&
           static_cast<float>(norm->epsilon) == static_cast<float>(other.epsilon);
  }
  if (const auto* linear = std::get_if<ops::Linear>(&ours)) {
    return linear->out_features == std::get<ops::Linear>(theirs).out_features;
  }
  if (const auto* bn = std::get_if<ops::BatchNorm>(&ours)) {
    const double other = std::get<ops::BatchNorm>(theirs).epsilon;
    return bn->centered && static_cast<float>(bn->epsilon) == static_cast<float>(other);
  }
  if (const auto* activation = std::get_if<ops::Activation>(&ours)) {
    const auto& other = std::get<ops::Activation>(theirs);
    if (activation->kind == ops::ActivationKind::leaky_relu) {
      return activation->kind == other.kind &&
             static_cast<float>(activation->slope) == static_cast<float>(other.slope);
    }
    return activation->kind == other.kind &&
           (activation->kind != ops::ActivationKind::clip ||
            static_cast<float>(activation->ceiling) == static_cast<float>(other.ceiling));
  }
  if (const auto* pool = std::get_if<ops::Pool>(&ours); pool != nullptr) {
    ops::Pool other = std::get<ops::Pool>(theirs);
    const bool counts = pool->kind == ops::PoolKind::average && pool->padding != ops::Extent2{0, 0};
    if (!counts) other.count_include_pad = pool->count_include_pad;
    const bool ceil_mode = std::exchange(other.ceil_mode, pool->ceil_mode);
    return other == *pool &&  // without a further window it makes no difference
           (ceil_mode == pool->ceil_mode ||
            ops::result_shape(ours, {&src, 1}, "") == ops::result_shape(theirs, {&src, 1}, ""));
  }
  return ours == theirs;
}

std::optional<ops::Operation> as_exported(const ops::Operation& layer, const tensor::Shape& src) {
  if (std::holds_alternative<ops::Dropout>(layer)) return std::nullopt;
  const auto* adaptive = std::get_if<ops::AdaptiveAveragePool>(&layer);
  if (adaptive == nullptr) return layer;
  if (adaptive->output == ops::Extent2{1, 1}) return ops::GlobalAveragePool{};
  const std::optional<ops::Pool> same = adaptive->even_windows(src);
  if (!same) return layer;
  if (same->kernel == ops::Extent2{1, 1}) return std::nullopt;
  return *same;
}

}  // namespace plait::onnx
