// A layer of an ONNX file as text for messages, such as "convolution 3x3, 64 channels".
#include <fmt/format.h>

#include "onnx/match.hpp"

namespace plait::onnx {

namespace {

std::string text(model::Extent2 extent) {
  return fmt::format("{}x{}", extent.height, extent.width);
}

struct LayerText {
  std::string operator()(const model::ConvolutionSpec& conv) const {
    std::string all =
        fmt::format("convolution {}, {} channels", text(conv.kernel), conv.out_channels);
    if (conv.stride != model::Extent2{1, 1}) all += ", stride " + text(conv.stride);
    if (conv.padding != model::Extent2{0, 0}) all += ", padding " + text(conv.padding);
    if (conv.dilation != model::Extent2{1, 1}) all += ", dilation " + text(conv.dilation);
    if (conv.groups != 1) all += fmt::format(", {} groups", conv.groups);
    return all;
  }
  std::string operator()(const model::LinearSpec& linear) const {
    return fmt::format("linear, {} features", linear.out_features);
  }
  std::string operator()(const model::SparseLinearSpec& sparse) const {
    return fmt::format("sparse_linear, {} features", sparse.pattern->rows);
  }
  std::string operator()(const model::BatchNormSpec& bn) const {
    return fmt::format("batch_norm, epsilon {:g}", bn.epsilon);
  }
  std::string operator()(const model::ActivationSpec& activation) const {
    const std::string name(model::kind_name(activation));
    if (activation.kind == model::ActivationKind::leaky_relu) {
      return fmt::format("{} {:g}", name, activation.slope);
    }
    return activation.kind == model::ActivationKind::clip
               ? fmt::format("{} {:g}", name, activation.ceiling)
               : name;
  }
  std::string operator()(const model::PoolSpec& pool) const {
    std::string all = fmt::format("{} {}, stride {}", model::kind_name(pool), text(pool.kernel),
                                  text(pool.stride));
    if (pool.padding != model::Extent2{0, 0}) all += ", padding " + text(pool.padding);
    if (pool.ceil_mode) all += ", ceil_mode";
    if (!pool.count_include_pad) all += ", padding not counted";
    return all;
  }
  template <class Other>
  std::string operator()(const Other& other) const {
    return std::string(model::kind_name(other));
  }
};

}  // namespace

std::string layer_text(const model::LayerSpec& layer) { return std::visit(LayerText{}, layer); }

}  // namespace plait::onnx
