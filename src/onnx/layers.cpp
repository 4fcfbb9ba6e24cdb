// The walk over the nodes in order: constants and calculations with shapes, single operators
// (read_layer), patterns of several (patterns, channels), and nodes without effect in evaluation.
#include "onnx/layers.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "checkpoint/shown.hpp"
#include "model/check.hpp"
#include "onnx/importer.hpp"
#include "onnx/shape_arithmetic.hpp"

namespace plait::onnx {

namespace {

/// Whether its elements can be counted; every extent is positive.
bool countable(const tensor::Shape& shape) {
  std::int64_t left = model::kMaxElements;
  for (const std::int64_t extent : shape.dims()) {
    if (extent < 1 || extent > left) return false;
    left /= extent;
  }
  return true;
}

std::optional<tensor::Shape> result_of(const ops::Operation& layer,
                                       const std::vector<tensor::Shape>& srcs) {
  try {
    ops::check_numbers(layer, "");
    tensor::Shape shape = ops::result_shape(layer, srcs, "");
    if (countable(shape)) return shape;
  } catch (const UserError&) {
    // refused with the block's name when the model is checked
  }
  return std::nullopt;
}

}  // namespace

Importer::Importer(const onnx_graph::Graph& graph, const std::string& source)
    : graph_(graph), source_(source) {
  for (const checkpoint::NamedTensor& one : graph.initializers) constants_[one.name] = one.tensor;
  if (graph.inputs.size() != 1 || graph.outputs.size() != 1) {
    user_error("{}: has {} inputs and {} outputs, but a network of plait has one of each", source,
               graph.inputs.size(), graph.outputs.size());
  }
  values_[graph.inputs[0].name] = {};
  for (const onnx_graph::GraphNode& node : graph.nodes) {
    for (const std::string& input : node.inputs) ++readers_[input];
  }
  ++readers_[graph.outputs[0].name];
  const std::vector<std::int64_t>& dims = graph.inputs[0].dims;
  if (dims.size() >= 2) {
    const tensor::Shape sample(std::vector<std::int64_t>(dims.begin() + 1, dims.end()));
    if (countable(sample)) input_ = sample;
  }
}

ImportedNetwork Importer::run() {
  for (const onnx_graph::GraphNode& one : graph_.nodes) {
    if (network_.layers.size() > static_cast<std::size_t>(model::kMaxLayers)) {
      user_error("{}: has more than {} layers", source_, model::kMaxLayers);
    }
    const NodeReader node(one, constants_, source_);
    if (one.op == "Constant") {
      constant(node);
      continue;
    }
    if (shape(node)) continue;
    const GraphPart value = read(node);
    const bool all_read = one.op == "BatchNormalization" || one.op == "Split";
    for (std::size_t i = 1; i < one.outputs.size() && !all_read; ++i) {
      unread_[one.outputs[i]] = node.name();
    }
    put(node, node.output(), value);
  }
  const std::string& output = graph_.outputs[0].name;
  const auto found = values_.find(output);
  if (found == values_.end() || !is_whole(found->second)) {
    user_error("{}: no node writes the output {}", source_, checkpoint::shown(output));
  }
  network_.output = found->second.layer;
  network_.input_dims = graph_.inputs[0].dims;
  return std::move(network_);
}

void Importer::put(const NodeReader& node, const std::string& name, const GraphPart& value) {
  if (values_.contains(name) || constants_.contains(name)) {
    node.refuse("{} is written twice", checkpoint::shown(name));
  }
  values_[name] = value;
}

void Importer::constant(const NodeReader& node) {
  const tensor::Tensor* tensor = node.tensor();
  if (tensor == nullptr) node.refuse("only constants given as a tensor are supported");
  constants_[node.output()] = *tensor;
}

/// Numbers that follow from shapes are constants from here on.
bool Importer::shape(const NodeReader& node) {
  std::optional<tensor::Tensor> numbers;
  if (node.op() == "Shape") {
    node.expect("start", 0);
    if (node.has_attribute("end")) node.refuse("only whole shapes are supported");
    const tensor::Shape& sample = known_shape(node, whole(node, 0));
    std::vector<std::int64_t> dims{graph_.inputs[0].dims[0]};
    dims.insert(dims.end(), sample.dims().begin(), sample.dims().end());
    numbers = whole_number_tensor(dims);
  } else {
    numbers = shape_arithmetic(node);
  }
  if (!numbers) return false;
  if (values_.contains(node.output()) || constants_.contains(node.output())) {
    node.refuse("{} is written twice", checkpoint::shown(node.output()));
  }
  constants_[node.output()] = *numbers;
  return true;
}

GraphPart Importer::value(const NodeReader& node, std::size_t i) const {
  const std::string& name = node.input(i);
  const auto found = values_.find(name);
  if (found == values_.end()) {
    if (unread_.contains(name)) {
      node.refuse("{} is a second output of {}, which is not supported", checkpoint::shown(name),
                  unread_.at(name));
    }
    node.refuse("no earlier node writes {}", checkpoint::shown(name));
  }
  return found->second;
}

bool Importer::is_whole(const GraphPart& one) {
  return one.part == Part::whole && one.padding == ops::Extent2{0, 0};
}

int Importer::whole(const NodeReader& node, std::size_t i) const {
  const GraphPart one = value(node, i);
  if (!is_whole(one)) node.refuse("its input is not the result of a supported layer");
  return one.layer;
}

const tensor::Shape* Importer::shape_of(int layer) const {
  const std::optional<tensor::Shape>& shape =
      layer == model::kBlockInput ? input_ : shapes_[static_cast<std::size_t>(layer)];
  return shape ? &*shape : nullptr;
}

const tensor::Shape& Importer::known_shape(const NodeReader& node, int layer) const {
  const tensor::Shape* shape = shape_of(layer);
  if (shape == nullptr) {
    node.refuse("the size of its input is not known; save the network with a fixed input size");
  }
  return *shape;
}

GraphPart Importer::add(const NodeReader& node, ops::Operation layer, std::vector<int> inputs,
                        std::vector<tensor::Tensor> parameters) {
  std::vector<tensor::Shape> srcs;
  for (const int input : inputs) {
    if (const tensor::Shape* shape = shape_of(input)) srcs.push_back(*shape);
  }
  shapes_.push_back(srcs.size() == inputs.size() ? result_of(layer, srcs) : std::nullopt);
  network_.layers.push_back(
      {node.name(), std::move(layer), std::move(inputs), std::move(parameters)});
  return {.layer = static_cast<int>(network_.layers.size()) - 1};
}

GraphPart Importer::add(const NodeReader& node, ReadLayer read) {
  const GraphPart src = value(node, 0);
  auto* pool = std::get_if<ops::Pool>(&read.layer);
  const bool average = pool != nullptr && pool->kind == ops::PoolKind::average;
  if (average && src.part == Part::whole && pool->padding == ops::Extent2{0, 0}) {
    pool->padding = src.padding;
  } else {
    whole(node, 0);
  }
  const ops::Pool nothing{ops::PoolKind::average, {1, 1}, {1, 1}, {0, 0}};
  if (average && *pool == nothing) return src;  // PyTorch's adaptive pooling, once in a while
  return add(node, std::move(read.layer), {src.layer}, std::move(read.parameters));
}

GraphPart Importer::read(const NodeReader& node) {
  using Read = GraphPart (Importer::*)(const NodeReader&);
  static const std::map<std::string_view, Read> several{
      {"Pad", &Importer::pad},         {"Div", &Importer::arithmetic},
      {"Mul", &Importer::arithmetic},  {"Erf", &Importer::arithmetic},
      {"Clip", &Importer::clip},       {"ReduceMean", &Importer::reduce_mean},
      {"Slice", &Importer::slice},     {"Split", &Importer::split},
      {"Reshape", &Importer::reshape}, {"Transpose", &Importer::transpose},
      {"Resize", &Importer::resize},   {"LayerNormalization", &Importer::layer_norm},
  };
  const std::string& op = node.op();
  if (const auto found = several.find(op); found != several.end()) {
    return (this->*found->second)(node);
  }
  if (op == "Add" && has_constant(node)) return plus_constant(node);
  if (op == "Identity") return value(node, 0);
  if (op == "Dropout") {
    if (node.has_input(2)) node.refuse("is saved for training; save the model for evaluation");
    return value(node, 0);
  }
  std::optional<ReadLayer> layer = read_layer(node);
  if (!layer) node.refuse("plait has no layer for it");
  if (ops::inputs_of(layer->layer).most == 1) return add(node, std::move(*layer));
  std::vector<int> inputs;
  for (std::size_t i = 0; node.has_input(i); ++i) inputs.push_back(whole(node, i));
  if (inputs.size() == 1) return value(node, 0);  // a Concat of one
  return add(node, std::move(layer->layer), std::move(inputs));
}

ImportedNetwork layers_of(const onnx_graph::Graph& graph, const std::string& source) {
  return Importer(graph, source).run();
}

}  // namespace plait::onnx
