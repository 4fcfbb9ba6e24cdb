// A layer of an ONNX file as text for messages, such as "convolution 3x3, 64 channels".
#include <fmt/format.h>

#include "onnx/match.hpp"

namespace plait::onnx {

namespace {

std::string text(ops::Extent2 extent) { return fmt::format("{}x{}", extent.height, extent.width); }

struct LayerText {
  std::string operator()(const ops::Convolution& conv) const {
    std::string all =
        fmt::format("convolution {}, {} channels", text(conv.kernel), conv.out_channels);
    if (conv.stride != ops::Extent2{1, 1}) all += ", stride " + text(conv.stride);
    if (conv.padding != ops::Extent2{0, 0}) all += ", padding " + text(conv.padding);
    if (conv.dilation != ops::Extent2{1, 1}) all += ", dilation " + text(conv.dilation);
    if (conv.groups != 1) all += fmt::format(", {} groups", conv.groups);
    return all;
  }
  std::string operator()(const ops::Linear& linear) const {
    return fmt::format("linear, {} features", linear.out_features);
  }
  std::string operator()(const ops::SparseLinear& sparse) const {
    return fmt::format("sparse_linear, {} features", sparse.pattern->rows);
  }
  std::string operator()(const ops::BatchNorm& bn) const {
    return fmt::format("batch_norm, epsilon {:g}", bn.epsilon);
  }
  std::string operator()(const ops::Activation& activation) const {
    const std::string name(ops::name_of(activation));
    if (activation.kind == ops::ActivationKind::leaky_relu) {
      return fmt::format("{} {:g}", name, activation.slope);
    }
    return activation.kind == ops::ActivationKind::clip
               ? fmt::format("{} {:g}", name, activation.ceiling)
               : name;
  }
  std::string operator()(const ops::Pool& pool) const {
    std::string all =
        fmt::format("{} {}, stride {}", ops::name_of(pool), text(pool.kernel), text(pool.stride));
    if (pool.padding != ops::Extent2{0, 0}) all += ", padding " + text(pool.padding);
    if (pool.ceil_mode) all += ", ceil_mode";
    if (!pool.count_include_pad) all += ", padding not counted";
    return all;
  }
  template <class Other>
  std::string operator()(const Other& other) const {
    return ops::text_of(ops::Operation{other});
  }
};

}  // namespace

std::string layer_text(const ops::Operation& layer) { return std::visit(LayerText{}, layer); }

}  // namespace plait::onnx
