// Each supported operator as a layer with its parameters in plait's order.
#include "onnx/read_layer.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "checkpoint/shown.hpp"
#include "onnx/patterns.hpp"
#include "onnx/turned.hpp"
#include "ops/table.hpp"

namespace plait::onnx {

double decimal(float value) { return std::strtod(fmt::format("{}", value).c_str(), nullptr); }

namespace {

/// A constant of rank 1 and this size.
tensor::Tensor vector_of(const NodeReader& node, std::size_t input, std::int64_t size) {
  const tensor::Tensor& tensor = node.floats(input, 1);
  if (tensor.shape()[0] != size) {
    node.refuse("{} has {} values instead of {}", checkpoint::shown(node.input(input)),
                tensor.shape()[0], size);
  }
  return tensor;
}

/// A bias that may be stored as one number or with a batch of one.
tensor::Tensor bias_of(const NodeReader& node, std::size_t input, std::int64_t size) {
  const tensor::Tensor* stored = node.constant(input);
  const bool floats = stored != nullptr && stored->desc().dtype == tensor::DType::f32;
  const bool row = floats && stored->shape() == tensor::Shape{1, size};
  if (!row && !(floats && stored->shape().elements() == 1)) return vector_of(node, input, size);
  tensor::Tensor bias(tensor::Shape{size});
  for (std::size_t i = 0; i < bias.floats().size(); ++i) {
    bias.floats()[i] = stored->floats()[row ? i : 0];
  }
  return bias;
}

tensor::Tensor scaled(tensor::Tensor tensor, float factor) {
  if (factor == 1) return tensor;
  tensor::Tensor result(tensor.shape());
  std::ranges::transform(tensor.floats(), result.floats().begin(),
                         [&](float x) { return factor * x; });
  return result;
}

ReadLayer convolution(const NodeReader& node) {
  const tensor::Tensor& weight = node.floats(1, 4);
  const tensor::Shape& shape = weight.shape();
  const bool bias = node.has_input(2);
  ops::Convolution conv{.out_channels = shape[0],
                        .kernel = node.extent("kernel_shape", 1, {shape[2], shape[3]}),
                        .stride = node.extent("strides", 1, {1, 1}),
                        .padding = node.padding(),
                        .dilation = node.extent("dilations", 1, {1, 1}),
                        .groups = node.integer("group", 1),
                        .bias = bias};
  if (conv.kernel != ops::Extent2{shape[2], shape[3]} || conv.groups < 1) {
    node.refuse("kernel {}x{} and {} groups do not fit its weight {}", conv.kernel.height,
                conv.kernel.width, conv.groups, shape);
  }
  std::vector<tensor::Tensor> parameters{weight};
  if (bias) parameters.push_back(vector_of(node, 2, shape[0]));
  return {conv, std::move(parameters)};
}

ReadLayer sequence_convolution(const NodeReader& node) {
  const tensor::Tensor& weight = node.floats(1, 3);
  const tensor::Shape& shape = weight.shape();
  const bool bias = node.has_input(2);
  const ops::Convolution1d conv{.out_channels = shape[0],
                                .kernel = node.length("kernel_shape", 1, shape[2]),
                                .stride = node.length("strides", 1, 1),
                                .padding = node.sequence_padding(),
                                .dilation = node.length("dilations", 1, 1),
                                .groups = node.integer("group", 1),
                                .bias = bias};
  if (conv.kernel != shape[2] || conv.groups < 1) {
    node.refuse("kernel {} and {} groups do not fit its weight {}", conv.kernel, conv.groups,
                shape);
  }
  std::vector<tensor::Tensor> parameters{weight};
  if (bias) parameters.push_back(vector_of(node, 2, shape[0]));
  return {conv, std::move(parameters)};
}

ReadLayer transposed_convolution(const NodeReader& node) {
  const tensor::Tensor& weight = node.floats(1, 4);
  const tensor::Shape& shape = weight.shape();
  const std::int64_t groups = node.integer("group", 1);
  if (groups < 1 || groups > ops::kMaxChannels || shape[1] > ops::kMaxChannels / groups) {
    node.refuse("{} groups do not fit its weight {}", groups, shape);
  }
  const bool bias = node.has_input(2);
  const ops::TransposedConvolution conv{
      .out_channels = shape[1] * groups,
      .kernel = node.extent("kernel_shape", 1, {shape[2], shape[3]}),
      .stride = node.extent("strides", 1, {1, 1}),
      .padding = node.padding(),
      .output_padding = node.extent("output_padding", 0, {0, 0}),
      .groups = groups,
      .bias = bias};
  if (conv.kernel != ops::Extent2{shape[2], shape[3]}) {
    node.refuse("kernel {}x{} does not fit its weight {}", conv.kernel.height, conv.kernel.width,
                shape);
  }
  if (node.has_attribute("output_shape") ||
      node.extent("dilations", 1, {1, 1}) != ops::Extent2{1, 1}) {
    node.refuse("output_shape and dilations are not supported");
  }
  std::vector<tensor::Tensor> parameters{weight};
  if (bias) parameters.push_back(vector_of(node, 2, conv.out_channels));
  return {conv, std::move(parameters)};
}

ReadLayer hard_sigmoid(const NodeReader& node) {
  const float slope = node.real("alpha", 0.2F);
  if (std::abs(slope - 1.0F / 6) > 1e-5F || node.real("beta", 0.5F) != 0.5F) {
    node.refuse("has the slope {}, but plait's hard_sigmoid has 1/6 and begins at -3", slope);
  }
  return {ops::Activation{ops::ActivationKind::hard_sigmoid}};
}

bool has_sequence_weight(const NodeReader& node) {
  return node.constant(1) != nullptr && node.constant(1)->shape().rank() == 3;
}

/// alpha x W + beta b; the factors become part of the weights.
ReadLayer gemm(const NodeReader& node) {
  node.expect("transA", 0);
  const tensor::Tensor& matrix = node.floats(1, 2);
  const bool turns = node.integer("transB", 0) == 0;
  tensor::Tensor weight = turns ? turned(matrix) : matrix;
  const std::int64_t out = weight.shape()[0];
  const bool bias = node.has_input(2);
  std::vector<tensor::Tensor> parameters{scaled(std::move(weight), node.real("alpha", 1))};
  if (bias) parameters.push_back(scaled(bias_of(node, 2, out), node.real("beta", 1)));
  return {.layer = ops::Linear{.out_features = out, .bias = bias},
          .parameters = std::move(parameters),
          .turned = turns};
}

/// Linear without a bias; with an Add of a vector behind it, it has become a Gemm.
ReadLayer matrix_product(const NodeReader& node) {
  tensor::Tensor weight = turned(node.floats(1, 2));
  const std::int64_t out = weight.shape()[0];
  return {.layer = ops::Linear{.out_features = out, .bias = false},
          .parameters = {std::move(weight)},
          .turned = true};
}

ReadLayer batch_norm(const NodeReader& node) {
  const std::int64_t channels = node.floats(1, 1).shape()[0];
  std::vector<tensor::Tensor> parameters;
  for (std::size_t i = 1; i <= 4; ++i) parameters.push_back(vector_of(node, i, channels));
  const double kept = decimal(node.real("momentum", 0.9F));  // of the old value
  const ops::BatchNorm bn{.epsilon = decimal(node.real("epsilon", 1e-5F)),
                          .momentum = std::round((1 - kept) * 1e6) / 1e6};
  return {bn, std::move(parameters)};
}

ReadLayer clip(const NodeReader& node) {
  const float* low = node.scalar(1);
  const float* high = node.scalar(2);
  const float least = low != nullptr ? *low : node.real("min", NAN);
  const float most = high != nullptr ? *high : node.real("max", NAN);
  const bool open = !node.has_input(2) && !(most < 1e30F);
  if (least == 0 && open) return {ops::Activation{ops::ActivationKind::relu}};
  if (!(least == 0 && most > 0 && most < 1e30F)) {
    const auto bound = [](float x) { return std::isnan(x) ? "no bound" : fmt::format("{}", x); };
    node.refuse("clips to {} .. {}, but plait's clip is from 0 to a number", bound(least),
                bound(most));
  }
  return {ops::Activation{ops::ActivationKind::clip, decimal(most)}};
}

ReadLayer pool(const NodeReader& node) {
  const bool max = node.op() == "MaxPool";
  ops::Pool pool{.kind = max ? ops::PoolKind::max : ops::PoolKind::average,
                 .kernel = node.extent("kernel_shape", 1),
                 .stride = node.extent("strides", 1, {1, 1}),
                 .padding = node.padding(),
                 .ceil_mode = node.integer("ceil_mode", 0) != 0};
  node.expect("storage_order", 0);
  if (node.extent("dilations", 1, {1, 1}) != ops::Extent2{1, 1}) {
    node.refuse("pools with dilation are not supported");
  }
  // Without padding there is nothing to count or not.
  if (!max && pool.padding != ops::Extent2{0, 0}) {
    pool.count_include_pad = node.integer("count_include_pad", 0) != 0;
  }
  return {pool};
}

ReadLayer gelu(const NodeReader& node) {
  if (node.text("approximate", "none") != "none") {
    node.refuse("approximates GELU, but plait's is the exact one");
  }
  return {ops::Activation{ops::ActivationKind::gelu}};
}

ops::FieldValue value_of(const NodeReader& node, const ops::Field& field,
                         const ops::FieldValue& usual) {
  const std::string name(field.onnx);
  if (const auto* extent = std::get_if<ops::Extent2>(&usual)) {
    if (name == "pads") return node.padding();
    return node.extent(name.c_str(), static_cast<std::int64_t>(field.least),
                       {extent->height, extent->width});
  }
  if (const auto* number = std::get_if<double>(&usual)) {
    return decimal(node.real(name.c_str(), static_cast<float>(*number)));
  }
  if (const auto* flag = std::get_if<bool>(&usual)) {
    return node.integer(name.c_str(), *flag ? 1 : 0) != 0;
  }
  return node.integer(name.c_str(), std::get<std::int64_t>(usual));
}

/// An operation without parameters whose attributes the table names.
std::optional<ReadLayer> by_table(const NodeReader& node) {
  const auto info = std::ranges::find(ops::operations(), node.op(), &ops::OperationInfo::onnx);
  if (info == ops::operations().end()) return std::nullopt;
  for (const ops::OnnxConstant& one : info->onnx_constants) {
    node.expect(std::string(one.name).c_str(), one.value);
  }
  ReadLayer read{.layer = info->usual};
  for (const ops::Field& field : info->fields) {
    if (!field.onnx.empty()) {
      field.set(read.layer, value_of(node, field, field.get(info->usual)));
    }
  }
  return read;
}

}  // namespace

std::optional<ReadLayer> read_layer(const NodeReader& node) {
  const std::string& op = node.op();
  if (op == "Conv" && has_sequence_weight(node)) return sequence_convolution(node);
  if (op == "Conv") return convolution(node);
  if (op == "ConvTranspose") return transposed_convolution(node);
  if (op == "HardSigmoid") return hard_sigmoid(node);
  if (op == "Gemm") return gemm(node);
  if (op == "MatMul") return matrix_product(node);
  if (op == "BatchNormalization") return batch_norm(node);
  if (op == "Clip") return clip(node);
  if (op == "Gelu") return gelu(node);
  if (op == "MaxPool" || op == "AveragePool") return pool(node);
  if (op == "Concat") return ReadLayer{ops::Concat{}};
  if (op == kSilu) return ReadLayer{ops::Activation{ops::ActivationKind::silu}};
  return by_table(node);
}

}  // namespace plait::onnx
