// Checks names and order; removes Constant, Identity and unused nodes.
#include "onnx/plain_graph.hpp"

#include <algorithm>
#include <set>

#include "base/error.hpp"
#include "checkpoint/shown.hpp"
#include "onnx/turned.hpp"

namespace plait::onnx {

namespace {

using onnx_graph::Attribute;
using onnx_graph::GraphNode;

template <class T>
tensor::Tensor vector_tensor(const std::vector<T>& values, tensor::DType dtype) {
  tensor::Tensor tensor(tensor::Shape{static_cast<std::int64_t>(values.size())}, dtype);
  std::ranges::copy(values, tensor.as<T>().begin());
  return tensor;
}

template <class T>
tensor::Tensor scalar_tensor(T value, tensor::DType dtype) {
  tensor::Tensor tensor(tensor::Shape{}, dtype);
  tensor.as<T>()[0] = value;
  return tensor;
}

tensor::Tensor constant_of(const GraphNode& one, const NodeReader& node) {
  for (const Attribute& attribute : one.attributes) {
    if (const auto* tensor = std::get_if<tensor::Tensor>(&attribute.value)) return *tensor;
    if (const auto* real = std::get_if<float>(&attribute.value)) {
      return scalar_tensor(*real, tensor::DType::f32);
    }
    if (const auto* integer = std::get_if<std::int64_t>(&attribute.value)) {
      return scalar_tensor(*integer, tensor::DType::i64);
    }
    if (const auto* reals = std::get_if<std::vector<float>>(&attribute.value)) {
      return vector_tensor(*reals, tensor::DType::f32);
    }
    if (const auto* integers = std::get_if<std::vector<std::int64_t>>(&attribute.value)) {
      return vector_tensor(*integers, tensor::DType::i64);
    }
  }
  node.refuse("only constants that are numbers are supported");
}

/// Of a stored tensor to what it is already.
bool is_cast_of_floats(const NodeReader& node) {
  return node.op() == "Cast" && node.integer("to", 0) == 1 && node.constant(0) != nullptr &&
         node.constant(0)->desc().dtype == tensor::DType::f32;
}

/// A stored matrix transposed, as tied weights are read a second time.
bool turns_matrix(const NodeReader& node) {
  const tensor::Tensor* matrix = node.op() == "Transpose" ? node.constant(0) : nullptr;
  return matrix != nullptr && matrix->desc().dtype == tensor::DType::f32 &&
         matrix->shape().rank() == 2 &&
         node.integers("perm", {1, 0}) == std::vector<std::int64_t>{1, 0};
}

class PlainBuilder {
 public:
  PlainBuilder(const onnx_graph::Graph& graph, const std::string& source)
      : graph_(graph), source_(source) {
    if (graph.inputs.size() != 1 || graph.outputs.size() != 1) {
      user_error("{}: has {} inputs and {} outputs, but a network of plait has one of each", source,
                 graph.inputs.size(), graph.outputs.size());
    }
    known_.insert(graph.inputs[0].name);
    for (const checkpoint::NamedTensor& one : graph.initializers) {
      if (!known_.insert(one.name).second) {
        user_error("{}: there are two tensors {}", source, checkpoint::shown(one.name));
      }
      plain_.constants[one.name] = one.tensor;
    }
  }

  PlainGraph run() {
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) take(i);
    plain_.output = resolved(graph_.outputs[0].name);
    if (!known_.contains(plain_.output)) {
      user_error("{}: no node writes the output {}", source_,
                 checkpoint::shown(graph_.outputs[0].name));
    }
    return std::move(plain_);
  }

 private:
  const std::string& resolved(const std::string& name) const {
    const auto found = aliases_.find(name);
    return found == aliases_.end() ? name : found->second;
  }

  void take(std::size_t index) {
    GraphNode one = graph_.nodes[index];
    const NodeReader node(one, plain_.constants, source_);
    for (std::string& input : one.inputs) {
      if (input.empty()) continue;
      if (!known_.contains(input)) refuse_unknown(node, input, index);
      input = resolved(input);
    }
    node.output();
    for (const std::string& output : one.outputs) {
      if (!output.empty() && !known_.insert(output).second) {
        node.refuse("{} is written twice", checkpoint::shown(output));
      }
    }
    if (one.op == "Constant") {
      plain_.constants[node.output()] = constant_of(one, node);
      plain_.literals.insert(node.output());
    } else if (one.op == "Identity" || is_cast_of_floats(node)) {
      const std::string& input = node.input(0);
      if (const tensor::Tensor* tensor = node.constant(0)) {
        plain_.constants[node.output()] = *tensor;  // it keeps the name of its own
        note_copy(node);
      } else {
        aliases_[node.output()] = input;
      }
    } else if (turns_matrix(node)) {
      plain_.constants[node.output()] = turned(*node.constant(0));
      note_copy(node);
    } else {
      plain_.nodes.push_back(std::move(one));
    }
  }

  void note_copy(const NodeReader& node) {
    const auto first = plain_.copies.find(node.input(0));
    ConstantCopy copy =
        first == plain_.copies.end() ? ConstantCopy{.of = node.input(0)} : first->second;
    if (node.op() == "Transpose") copy.turned = !copy.turned;
    copy.merged = copy.merged || node.op() == "Identity";
    if (plain_.literals.contains(copy.of)) plain_.literals.insert(node.output());
    plain_.copies[node.output()] = std::move(copy);
  }

  [[noreturn]] void refuse_unknown(const NodeReader& node, const std::string& input,
                                   std::size_t index) const {
    for (std::size_t i = index; i < graph_.nodes.size(); ++i) {
      const auto& outputs = graph_.nodes[i].outputs;
      if (std::ranges::find(outputs, input) == outputs.end()) continue;
      node.refuse("no earlier node writes {}, but {} does: a cycle, or nodes out of order",
                  checkpoint::shown(input), checkpoint::shown(graph_.nodes[i].name));
    }
    node.refuse("no earlier node writes {}", checkpoint::shown(input));
  }

  const onnx_graph::Graph& graph_;
  const std::string& source_;
  std::set<std::string, std::less<>> known_;
  std::map<std::string, std::string, std::less<>> aliases_;  ///< what Identity passes on
  PlainGraph plain_;
};

}  // namespace

PlainGraph plain_graph(const onnx_graph::Graph& graph, const std::string& source) {
  return PlainBuilder(graph, source).run();
}

void drop_unused(PlainGraph& graph) {
  std::set<std::string, std::less<>> needed{graph.output};
  std::vector<GraphNode> kept;
  for (auto node = graph.nodes.rbegin(); node != graph.nodes.rend(); ++node) {
    const bool used = std::ranges::any_of(
        node->outputs, [&](const std::string& output) { return needed.contains(output); });
    if (!used) continue;
    needed.insert(node->inputs.begin(), node->inputs.end());
    kept.push_back(std::move(*node));
  }
  std::ranges::reverse(kept);
  graph.nodes = std::move(kept);
}

}  // namespace plait::onnx
