// Writes every kind of layer as ONNX operators of opset 13. Sparse layers become dense matrices, up
// to a limit.
#include "onnx/to_graph.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <set>

#include "base/error.hpp"
#include "model/parameters.hpp"
#include "model/shapes.hpp"
#include "ops/table.hpp"

namespace plait::onnx {

namespace {

using namespace onnx_graph;

constexpr std::int64_t kOpset = 13;
constexpr std::int64_t kMostDenseElements = std::int64_t{1} << 29;  // 2 GiB of floats

std::vector<std::int64_t> pair_of(ops::Extent2 extent) { return {extent.height, extent.width}; }
/// The begins of both axes, then their ends.
std::vector<std::int64_t> pads_of(ops::Extent2 padding) {
  return {padding.height, padding.width, padding.height, padding.width};
}

AttributeValue attribute_of(const ops::Field& field, const ops::FieldValue& value) {
  if (const auto* extent = std::get_if<ops::Extent2>(&value)) {
    return field.onnx == "pads" ? pads_of(*extent) : pair_of(*extent);
  }
  if (const auto* number = std::get_if<double>(&value)) return static_cast<float>(*number);
  if (const auto* flag = std::get_if<bool>(&value)) return std::int64_t{*flag ? 1 : 0};
  return std::get<std::int64_t>(value);
}

std::vector<std::int64_t> with_batch(const tensor::Shape& sample) {
  const tensor::Shape batch = sample.with_front(kSymbolic);
  return {batch.dims().begin(), batch.dims().end()};
}

tensor::Tensor dense(const tensor::SparsePattern& pattern, const tensor::Tensor& values,
                     const std::string& name) {
  if (pattern.rows > kMostDenseElements / pattern.columns) {
    user_error("'{}' is sparse, {} x {}: too large for ONNX, where it would be dense", name,
               pattern.rows, pattern.columns);
  }
  tensor::Tensor matrix(tensor::Shape{pattern.rows, pattern.columns});
  std::size_t next = 0;
  for (std::int64_t row = 0; row < pattern.rows; ++row) {
    for (const std::int32_t column : pattern.row(row)) {
      matrix.floats()[static_cast<std::size_t>(row * pattern.columns + column)] =
          values.floats()[next++];
    }
  }
  return matrix;
}

class Writer {
 public:
  Writer(const std::vector<checkpoint::NamedTensor>& weights, const std::string& source)
      : source_(source) {
    for (const checkpoint::NamedTensor& one : weights) weights_[one.name] = &one.tensor;
  }

  /// The layer under way: its full name, the values it reads, the shape of the first of them.
  struct Place {
    std::string name;
    std::vector<std::string> srcs;
    tensor::Shape shape;
  };
  /// The value that the layer leaves.
  std::string layer(const ops::Operation& spec, Place place) {
    place_ = std::move(place);
    parameters_.clear();
    for (const ops::ParameterSpec& parameter : ops::parameters_of(spec, place_.shape)) {
      const std::string name = place_.name + "." + parameter.name;
      graph_.initializers.push_back({name, weight(name, parameter)});
      parameters_.push_back(name);
    }
    return std::visit(*this, spec);
  }

  /// By the table of operations.
  template <class Op>
  std::string operator()(const Op& operation) {
    const ops::OperationInfo& info = ops::info_of(operation);
    if (info.onnx.empty()) {
      user_error("'{}' is a {}, which ONNX does not have; use .safetensors", place_.name,
                 info.name);
    }
    std::vector<Attribute> attributes;
    for (const ops::Field& field : info.fields) {
      if (field.onnx.empty()) continue;
      attributes.push_back({std::string(field.onnx), attribute_of(field, field.get(operation))});
    }
    for (const ops::OnnxConstant& one : info.onnx_constants) {
      attributes.push_back({std::string(one.name), one.value});
    }
    return emit(std::string(info.onnx), std::move(attributes));
  }
  std::string operator()(const ops::BatchNorm& bn) {
    if (!bn.centered) {
      user_error(
          "'{}' is a batch_norm with centered = false, which ONNX does not support; use "
          ".safetensors",
          place_.name);
    }
    // ONNX's momentum is of the old value.
    return emit("BatchNormalization", {{"epsilon", static_cast<float>(bn.epsilon)},
                                       {"momentum", static_cast<float>(1 - bn.momentum)}});
  }
  std::string operator()(const ops::Activation& activation) {
    if (activation.kind == ops::ActivationKind::gelu) return gelu();
    if (activation.kind == ops::ActivationKind::silu) return silu();
    if (activation.kind == ops::ActivationKind::hard_sigmoid) return hard_sigmoid("");
    if (activation.kind == ops::ActivationKind::hard_swish) {
      return step("Mul", "", {place_.srcs[0], hard_sigmoid("gate")});
    }
    if (activation.kind != ops::ActivationKind::clip)
      return operator()<ops::Activation>(activation);
    return step("Clip", "",
                {place_.srcs[0], scalar(0), scalar(static_cast<float>(activation.ceiling))});
  }
  std::string operator()(const ops::Pool& pool) {
    std::vector<Attribute> attributes{{"kernel_shape", pair_of(pool.kernel)},
                                      {"strides", pair_of(pool.stride)},
                                      {"pads", pads_of(pool.padding)}};
    if (pool.ceil_mode) attributes.push_back({"ceil_mode", std::int64_t{1}});
    if (pool.kind == ops::PoolKind::max) return emit("MaxPool", std::move(attributes));
    // Without padding nothing is counted; 0 keeps others from counting what ceil_mode reaches.
    const bool counts =
        pool.count_include_pad && !(pool.ceil_mode && pool.padding == ops::Extent2{0, 0});
    attributes.push_back({"count_include_pad", std::int64_t{counts ? 1 : 0}});
    return emit("AveragePool", std::move(attributes));
  }
  std::string operator()(const ops::Slice& slice) {
    return step("Slice", "",
                {place_.srcs[0], numbers("start", {slice.start}),
                 numbers("end", {slice.start + slice.length}), numbers("axis", {1})});
  }
  /// The channels as groups x channels, transposed.
  std::string operator()(const ops::ChannelShuffle& shuffle) {
    const std::int64_t each = place_.shape[0] / shuffle.groups;
    std::vector<std::int64_t> whole{0, place_.shape[0]};
    std::vector<std::int64_t> parts{0, shuffle.groups, each};
    std::vector<std::int64_t> order{0, 2, 1};
    for (std::size_t i = 1; i < place_.shape.rank(); ++i) {
      whole.push_back(place_.shape[i]);
      parts.push_back(place_.shape[i]);
      order.push_back(std::ssize(order));
    }
    const std::string groups = step("Reshape", "groups", {place_.srcs[0], numbers("parts", parts)});
    const std::string turned = step("Transpose", "turned", {groups}, {{"perm", order}});
    return step("Reshape", "", {turned, numbers("whole", whole)});
  }
  std::string operator()(const ops::Dropout&) { return place_.srcs[0]; }

  /// With `value` as the result.
  Graph finish(const model::ModelSpec& model, const std::string& value) {
    graph_.name = model.name;
    graph_.opset = kOpset;
    graph_.inputs = {{"images", with_batch(model.input)}};
    graph_.outputs = {{"logits", with_batch(model::border_shapes(model).back())}};
    graph_.nodes.push_back(
        {.name = "logits", .op = "Identity", .inputs = {value}, .outputs = {"logits"}});
    return std::move(graph_);
  }

 private:
  tensor::Tensor weight(const std::string& name, const ops::ParameterSpec& spec) const {
    const auto found = weights_.find(name);
    if (found == weights_.end()) {
      user_error("{}: tensor '{}' is missing; does the file belong to another model?", source_,
                 name);
    }
    const tensor::Tensor& tensor = *found->second;
    if (tensor.shape() != spec.shape || tensor.desc().dtype != tensor::DType::f32) {
      user_error("{}: tensor '{}' is {} {}, but the model needs f32 {}", source_, name,
                 tensor::name_of(tensor.desc().dtype), tensor.shape(), spec.shape);
    }
    return spec.pattern == nullptr ? tensor : dense(*spec.pattern, tensor, name);
  }

  std::string emit(const std::string& op, std::vector<Attribute> attributes = {}) {
    std::vector<std::string> inputs = place_.srcs;
    inputs.insert(inputs.end(), parameters_.begin(), parameters_.end());
    return step(op, "", std::move(inputs), std::move(attributes));
  }
  /// A node of the layer under way; `part` is "" for the one that bears its name.
  std::string step(const std::string& op, const std::string& part, std::vector<std::string> inputs,
                   std::vector<Attribute> attributes = {}) {
    const std::string name = part.empty() ? place_.name : place_.name + "/" + part;
    graph_.nodes.push_back({.name = name,
                            .op = op,
                            .inputs = std::move(inputs),
                            .outputs = {name + ".dst"},
                            .attributes = std::move(attributes)});
    return name + ".dst";
  }
  /// x (1 + erf(x / sqrt 2)) / 2, as PyTorch spells it.
  std::string gelu() {
    const std::string& x = place_.srcs[0];
    const std::string scaled = step("Div", "scaled", {x, scalar(std::numbers::sqrt2_v<float>)});
    const std::string erf = step("Erf", "erf", {scaled});
    const std::string raised = step("Add", "raised", {erf, scalar(1)});
    const std::string product = step("Mul", "product", {x, raised});
    return step("Mul", "", {product, scalar(0.5F)});
  }
  /// x sigmoid(x), as PyTorch spells it.
  std::string silu() {
    const std::string& x = place_.srcs[0];
    const std::string gate = step("Sigmoid", "sigmoid", {x});
    return step("Mul", "", {x, gate});
  }
  std::string hard_sigmoid(const std::string& part) {
    return step("HardSigmoid", part, {place_.srcs[0]}, {{"alpha", 1.0F / 6}, {"beta", 0.5F}});
  }
  /// Stored integers of the layer under way.
  std::string numbers(const std::string& part, const std::vector<std::int64_t>& values) {
    const std::string name = place_.name + "/" + part;
    tensor::Tensor tensor(tensor::Shape{std::ssize(values)}, tensor::DType::i64);
    std::ranges::copy(values, tensor.as<std::int64_t>().begin());
    graph_.initializers.push_back({name, std::move(tensor)});
    return name;
  }
  std::string scalar(float value) {
    const std::string name = fmt::format("/{}", value);
    if (scalars_.insert(name).second) {
      tensor::Tensor tensor{tensor::Shape{}};
      tensor.floats()[0] = value;
      graph_.initializers.push_back({name, std::move(tensor)});
    }
    return name;
  }

  const std::string& source_;
  std::map<std::string_view, const tensor::Tensor*> weights_;
  std::set<std::string> scalars_;
  Place place_;
  std::vector<std::string> parameters_;
  Graph graph_;
};

}  // namespace

onnx_graph::Graph to_onnx(const model::ModelSpec& model,
                          const std::vector<checkpoint::NamedTensor>& weights,
                          const std::string& source) {
  Writer writer(weights, source);
  const std::vector<tensor::Shape> borders = model::border_shapes(model);
  std::vector<std::string> results{"images"};  // of the input and of every block
  for (std::size_t i = 0; i < model.blocks.size(); ++i) {
    const model::BlockSpec& block = model.blocks[i];
    const std::vector<int> reads = model::inputs_of(model, i);
    const std::vector<tensor::Shape> srcs = model::input_shapes(model, borders, i);
    const std::vector<tensor::Shape> shapes = model::node_shapes(block, srcs);
    std::vector<std::string> values;
    for (const model::Node& node : block.nodes) {
      Writer::Place place{.name = node.name.empty() ? block.name : block.name + "." + node.name,
                          .srcs = {},
                          .shape = model::node_inputs(node, srcs, shapes, block.name).front()};
      for (const int input : node.inputs) {
        place.srcs.push_back(
            input < 0 ? results[static_cast<std::size_t>(
                            1 + reads[static_cast<std::size_t>(model::number_of_input(input))])]
                      : values[static_cast<std::size_t>(input)]);
      }
      values.push_back(writer.layer(node.layer, std::move(place)));
    }
    results.push_back(values.back());
  }
  return writer.finish(model, results.back());
}

}  // namespace plait::onnx
