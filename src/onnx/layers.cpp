// Walks the nodes in order: single operators (read_layer), patterns of several (padding, biases,
// GELU), and nodes without effect in evaluation.
#include "onnx/layers.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>

#include "base/error.hpp"
#include "checkpoint/shown.hpp"
#include "model/check.hpp"
#include "onnx/read_layer.hpp"

namespace plait::onnx {

namespace {

using onnx_graph::Graph;
using onnx_graph::GraphNode;

/// Where a value is on its way to GELU(x) = x (1 + erf(x / sqrt 2)) / 2.
enum class Gelu { none, scaled, erf, raised, product, half };

/// A value of the graph: what a layer leaves, that with zeros around it, or a part of its GELU.
struct Value {
  int layer = model::kBlockInput;
  Gelu gelu = Gelu::none;
  ops::Extent2 padding{0, 0};  ///< zeros around it, which only average_pool can take
};

bool near(float value, float wanted) { return std::abs(value - wanted) < 1e-4F; }

class Importer {
 public:
  Importer(const Graph& graph, const std::string& source) : graph_(graph), source_(source) {
    for (const checkpoint::NamedTensor& one : graph.initializers) constants_[one.name] = one.tensor;
    if (graph.inputs.size() != 1 || graph.outputs.size() != 1) {
      user_error("{}: has {} inputs and {} outputs, but a network of plait has one of each", source,
                 graph.inputs.size(), graph.outputs.size());
    }
    values_[graph.inputs[0].name] = {};
  }

  ImportedNetwork run() {
    for (const GraphNode& one : graph_.nodes) {
      if (network_.layers.size() > static_cast<std::size_t>(model::kMaxLayers)) {
        user_error("{}: has more than {} layers", source_, model::kMaxLayers);
      }
      if (one.op == "Constant") {
        constant(one);
        continue;
      }
      const NodeReader node(one, constants_, source_);
      const Value value = read(node);
      for (std::size_t i = 1; i < one.outputs.size() && one.op != "BatchNormalization"; ++i) {
        unread_[one.outputs[i]] = node.name();
      }
      if (values_.contains(node.output()) || constants_.contains(node.output())) {
        node.refuse("{} is written twice", checkpoint::shown(node.output()));
      }
      values_[node.output()] = value;
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

 private:
  void constant(const GraphNode& one) {
    const NodeReader node(one, constants_, source_);
    for (const onnx_graph::Attribute& attribute : one.attributes) {
      if (const auto* tensor = std::get_if<tensor::Tensor>(&attribute.value)) {
        constants_[node.output()] = *tensor;
        return;
      }
    }
    node.refuse("only constants given as a tensor are supported");
  }

  Value value(const NodeReader& node, std::size_t i) const {
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
  static bool is_whole(const Value& one) {
    return one.gelu == Gelu::none && one.padding == ops::Extent2{0, 0};
  }
  /// A value that a layer has left.
  int whole(const NodeReader& node, std::size_t i) const {
    const Value one = value(node, i);
    if (!is_whole(one)) node.refuse("its input is not the result of a supported layer");
    return one.layer;
  }

  Value add(const NodeReader& node, ops::Operation layer, std::vector<int> inputs,
            std::vector<tensor::Tensor> parameters = {}) {
    network_.layers.push_back(
        {node.name(), std::move(layer), std::move(inputs), std::move(parameters)});
    return {.layer = static_cast<int>(network_.layers.size()) - 1};
  }
  Value add(const NodeReader& node, ReadLayer read) {
    const Value src = value(node, 0);
    auto* pool = std::get_if<ops::Pool>(&read.layer);
    const bool average = pool != nullptr && pool->kind == ops::PoolKind::average;
    if (average && src.gelu == Gelu::none && pool->padding == ops::Extent2{0, 0}) {
      pool->padding = src.padding;
    } else {
      whole(node, 0);
    }
    const ops::Pool nothing{ops::PoolKind::average, {1, 1}, {1, 1}, {0, 0}};
    if (average && *pool == nothing) return src;  // PyTorch's adaptive pooling, once in a while
    return add(node, std::move(read.layer), {src.layer}, std::move(read.parameters));
  }

  Value read(const NodeReader& node) {
    const std::string& op = node.op();
    if (op == "Pad") return pad(node);
    if (op == "Div" || op == "Mul" || op == "Erf") return part_of_gelu(node);
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

  /// PyTorch pads before it averages.
  Value pad(const NodeReader& node) {
    const tensor::Tensor* pads = node.constant(1);
    const bool stored = pads != nullptr && pads->desc().dtype == tensor::DType::i64 &&
                        pads->shape() == tensor::Shape{8};
    const bool zeros = !node.has_input(2) || (node.scalar(2) != nullptr && *node.scalar(2) == 0);
    if (!stored || !zeros || node.text("mode", "constant") != "constant") {
      node.refuse("only zeros around images, with stored sizes, are supported");
    }
    const auto n = pads->as<std::int64_t>();
    const auto fits = [](std::int64_t pad) { return pad >= 0 && pad <= ops::kMaxWindow; };
    if (n[0] != 0 || n[1] != 0 || n[4] != 0 || n[5] != 0 || n[2] != n[6] || n[3] != n[7] ||
        !fits(n[2]) || !fits(n[3])) {
      node.refuse("pads [{}] are not equal at both ends of images", fmt::join(n, ", "));
    }
    return {.layer = whole(node, 0), .padding = {n[2], n[3]}};
  }

  static bool has_constant(const NodeReader& node) {
    return node.constant(0) != nullptr || node.constant(1) != nullptr;
  }
  Value plus_constant(const NodeReader& node) {
    const std::size_t at = node.constant(0) != nullptr ? 0 : 1;
    const Value other = value(node, 1 - at);
    if (other.gelu == Gelu::erf && node.scalar(at) != nullptr && near(*node.scalar(at), 1)) {
      return {.layer = other.layer, .gelu = Gelu::raised};
    }
    return with_bias(node, other, at);
  }
  Value with_bias(const NodeReader& node, const Value& linear, std::size_t bias) {
    auto* layer = is_whole(linear) && linear.layer >= 0
                      ? &network_.layers[static_cast<std::size_t>(linear.layer)]
                      : nullptr;
    auto* spec = layer == nullptr ? nullptr : std::get_if<ops::Linear>(&layer->layer);
    const bool last = linear.layer + 1 == static_cast<int>(network_.layers.size());
    if (spec == nullptr || spec->bias || !last) {
      node.refuse("adds a stored tensor to something other than a linear layer without a bias");
    }
    layer->parameters.push_back(vector_of(node, bias, spec->out_features));
    spec->bias = true;
    values_.erase(node.input(1 - bias));  // no later node may read it without the bias
    return linear;
  }

  Value part_of_gelu(const NodeReader& node) {
    const std::string& op = node.op();
    if (op == "Erf") {
      const Value x = value(node, 0);
      if (x.gelu == Gelu::scaled) return {.layer = x.layer, .gelu = Gelu::erf};
    } else if (op == "Div") {
      const Value x = value(node, 0);
      const float* by = node.scalar(1);
      const bool scaled = by != nullptr && near(*by, std::numbers::sqrt2_v<float>);
      if (is_whole(x) && scaled) return {.layer = x.layer, .gelu = Gelu::scaled};
    } else if (node.constant(0) != nullptr || node.constant(1) != nullptr) {
      const std::size_t at = node.constant(0) != nullptr ? 0 : 1;
      const float* by = node.scalar(at);
      const Value x = value(node, 1 - at);
      if (by != nullptr && is_whole(x) && near(*by, std::numbers::sqrt2_v<float> / 2)) {
        return {.layer = x.layer, .gelu = Gelu::scaled};
      }
      if (by != nullptr && near(*by, 0.5F)) {
        if (is_whole(x)) return {.layer = x.layer, .gelu = Gelu::half};
        if (x.gelu == Gelu::product) return gelu_of(node, x.layer);
      }
    } else {
      Value a = value(node, 0);
      Value b = value(node, 1);
      if (is_gate_of(b, a)) return silu_of(node, b.layer);
      if (is_gate_of(a, b)) return silu_of(node, a.layer);
      if (a.gelu == Gelu::raised) std::swap(a, b);
      if (b.gelu == Gelu::raised && a.layer == b.layer) {
        if (is_whole(a)) return {.layer = a.layer, .gelu = Gelu::product};
        if (a.gelu == Gelu::half) return gelu_of(node, a.layer);
      }
    }
    node.refuse("arithmetic that matches no layer of plait");
  }
  /// Whether `gate` is sigmoid(x), for SiLU(x) = x sigmoid(x).
  bool is_gate_of(const Value& gate, const Value& x) const {
    if (!is_whole(gate) || !is_whole(x) || gate.layer < 0) return false;
    const ImportedLayer& layer = network_.layers[static_cast<std::size_t>(gate.layer)];
    return layer.layer == ops::Operation{ops::Activation{ops::ActivationKind::sigmoid}} &&
           layer.inputs[0] == x.layer;
  }
  /// The sigmoid becomes the SiLU; no other node may read the sigmoid, before or after.
  Value silu_of(const NodeReader& node, int gate) {
    for (const ImportedLayer& layer : network_.layers) {
      if (std::ranges::find(layer.inputs, gate) != layer.inputs.end()) {
        node.refuse("the Sigmoid of this SiLU is read by {} too, which is not supported",
                    layer.node);
      }
    }
    std::erase_if(values_, [&](const auto& one) { return one.second.layer == gate; });
    ImportedLayer& layer = network_.layers[static_cast<std::size_t>(gate)];
    layer.node = node.name();
    layer.layer = ops::Activation{ops::ActivationKind::silu};
    return {.layer = gate};
  }
  Value gelu_of(const NodeReader& node, int x) {
    return add(node, ops::Activation{ops::ActivationKind::gelu}, {x});
  }

  const Graph& graph_;
  const std::string& source_;
  NodeReader::Constants constants_;
  std::map<std::string, Value> values_;
  std::map<std::string, std::string> unread_;  ///< further outputs, and whose they are
  ImportedNetwork network_;
};

}  // namespace

ImportedNetwork layers_of(const onnx_graph::Graph& graph, const std::string& source) {
  return Importer(graph, source).run();
}

}  // namespace plait::onnx
