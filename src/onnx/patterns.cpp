// Looks from each node back at what made its inputs; a pattern's last node becomes the one node
// that stands for it.
#include "onnx/patterns.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>

namespace plait::onnx {

namespace {

using onnx_graph::GraphNode;

bool near(float value, float wanted) { return std::abs(value - wanted) < 1e-4F; }

GraphNode one_node(std::string op, std::vector<std::string> inputs,
                   std::vector<onnx_graph::Attribute> attributes = {}) {
  return {.name = {},
          .op = std::move(op),
          .inputs = std::move(inputs),
          .outputs = {},
          .attributes = std::move(attributes)};
}

class PatternFinder {
 public:
  explicit PatternFinder(PlainGraph& graph) : graph_(graph) {}

  void run() {
    for (GraphNode& node : graph_.nodes) {
      if (std::optional<GraphNode> joined = find(node)) {
        joined->name = node.name;
        joined->outputs = {node.outputs[0]};
        node = std::move(*joined);
      }
      makers_[node.outputs[0]] = &node;
    }
  }

 private:
  using Name = std::optional<std::string>;

  /// The node of this kind that writes the value, or null.
  const GraphNode* maker(const std::string& value, std::string_view op, std::size_t inputs) const {
    const auto found = makers_.find(value);
    if (found == makers_.end() || found->second->op != op) return nullptr;
    return found->second->inputs.size() >= inputs ? found->second : nullptr;
  }
  const tensor::Tensor* constant(const std::string& value) const {
    const auto found = graph_.constants.find(value);
    return found == graph_.constants.end() ? nullptr : &found->second;
  }
  bool is_number(const std::string& value, float wanted) const {
    const tensor::Tensor* one = constant(value);
    return one != nullptr && one->desc().dtype == tensor::DType::f32 &&
           one->shape().elements() == 1 && near(one->floats()[0], wanted);
  }
  float real(const GraphNode& node, std::string_view name, float otherwise) const {
    const auto found = std::ranges::find(node.attributes, name, &onnx_graph::Attribute::name);
    const float* value =
        found == node.attributes.end() ? nullptr : std::get_if<float>(&found->value);
    return value == nullptr ? otherwise : *value;
  }
  /// The other input of a sum or product with this number; none where it is another node.
  Name with_number(const std::string& value, std::string_view op, float number) const {
    const GraphNode* node = maker(value, op, 2);
    if (node == nullptr) return {};
    if (is_number(node->inputs[1], number)) return node->inputs[0];
    const bool swaps = op == "Add" || op == "Mul";
    if (swaps && is_number(node->inputs[0], number)) return node->inputs[1];
    return {};
  }

  std::optional<GraphNode> find(const GraphNode& node) const {
    if (node.op == "Clip") return clip(node);
    if (node.inputs.size() != 2) return {};
    const std::string& a = node.inputs[0];
    const std::string& b = node.inputs[1];
    if (node.op == "Mul") {
      if (auto found = product(a, b)) return found;
      return product(b, a);
    }
    if (node.op == "Div") return quotient(a, b);
    if (node.op == "Add") {
      if (auto found = sum(a, b)) return found;
      return sum(b, a);
    }
    return {};
  }

  /// ReLU before a clip from 0 changes nothing; PyTorch writes ReLU6 so.
  std::optional<GraphNode> clip(const GraphNode& node) const {
    const GraphNode* relu = node.inputs.empty() ? nullptr : maker(node.inputs[0], "Relu", 1);
    const bool from_zero =
        node.inputs.size() > 1 ? is_number(node.inputs[1], 0) : real(node, "min", -1) == 0;
    if (relu == nullptr || !from_zero) return {};
    GraphNode joined = node;
    joined.inputs[0] = relu->inputs[0];
    return joined;
  }

  std::optional<GraphNode> product(const std::string& a, const std::string& b) const {
    if (Name x = gelu_of(a, b)) return one_node("Gelu", {*x});
    if (const GraphNode* gate = maker(b, "Sigmoid", 1); gate != nullptr && gate->inputs[0] == a) {
      return one_node(kSilu, {a});
    }
    if (Name x = hard_sigmoid_of(b); x == a) return one_node("HardSwish", {a});
    const GraphNode* norm = maker(a, "LayerNormalization", 1);
    const tensor::Tensor* weight = constant(b);
    if (norm != nullptr && norm->inputs.size() == 1 && weight != nullptr &&
        weight->shape().rank() >= 1) {
      GraphNode scaled = *norm;
      scaled.inputs.push_back(b);
      return scaled;
    }
    return {};
  }

  std::optional<GraphNode> quotient(const std::string& a, const std::string& b) const {
    if (is_number(b, 6)) {
      if (Name x = raised_relu6(a)) return hard_sigmoid(*x);
      if (const GraphNode* both = maker(a, "Mul", 2)) {
        for (const std::size_t i : {0U, 1U}) {
          if (raised_relu6(both->inputs[i]) == both->inputs[1 - i]) {
            return one_node("HardSwish", {both->inputs[1 - i]});
          }
        }
      }
    }
    return normalised(a, b);
  }

  std::optional<GraphNode> sum(const std::string& a, const std::string& b) const {
    const tensor::Tensor* bias = constant(b);
    if (bias == nullptr || bias->shape().rank() < 1) return {};
    if (const GraphNode* norm = maker(a, "LayerNormalization", 2)) {
      if (norm->inputs.size() != 2) return {};
      GraphNode moved = *norm;
      moved.inputs.push_back(b);
      return moved;
    }
    const GraphNode* matrix = maker(a, "MatMul", 2);
    if (matrix == nullptr || constant(matrix->inputs[1]) == nullptr) return {};
    return one_node("Gemm", {matrix->inputs[0], matrix->inputs[1], b});
  }

  /// x of 1 + erf(x / sqrt 2).
  Name raised_erf(const std::string& value) const {
    const Name erf = with_number(value, "Add", 1);
    const GraphNode* node = erf ? maker(*erf, "Erf", 1) : nullptr;
    if (node == nullptr) return {};
    if (Name x = with_number(node->inputs[0], "Div", std::numbers::sqrt2_v<float>)) return x;
    return with_number(node->inputs[0], "Mul", std::numbers::sqrt2_v<float> / 2);
  }
  /// x of x (1 + erf(x / sqrt 2)) / 2, for any place of the half.
  Name gelu_of(const std::string& a, const std::string& b) const {
    if (is_number(b, 0.5F)) {
      const GraphNode* both = maker(a, "Mul", 2);
      if (both == nullptr) return {};
      if (Name x = raised_erf(both->inputs[1]); x == both->inputs[0]) return x;
      if (Name x = raised_erf(both->inputs[0]); x == both->inputs[1]) return x;
      return {};
    }
    if (Name x = raised_erf(b); x && with_number(a, "Mul", 0.5F) == x) return x;
    if (Name raised = with_number(b, "Mul", 0.5F)) {
      if (Name x = raised_erf(*raised); x == a) return x;
    }
    return {};
  }

  static GraphNode hard_sigmoid(const std::string& x) {
    return one_node("HardSigmoid", {x}, {{"alpha", 1.0F / 6}, {"beta", 0.5F}});
  }
  /// x of relu6(x + 3).
  Name raised_relu6(const std::string& value) const {
    const GraphNode* clip = maker(value, "Clip", 1);
    if (clip == nullptr) return {};
    const bool given =
        clip->inputs.size() == 3 && is_number(clip->inputs[1], 0) && is_number(clip->inputs[2], 6);
    const bool stated =
        clip->inputs.size() == 1 && real(*clip, "min", -1) == 0 && real(*clip, "max", -1) == 6;
    return given || stated ? with_number(clip->inputs[0], "Add", 3) : Name{};
  }
  Name hard_sigmoid_of(const std::string& value) const {
    const GraphNode* gate = maker(value, "HardSigmoid", 1);
    const bool fits = gate != nullptr && near(real(*gate, "alpha", 0.2F), 1.0F / 6) &&
                      near(real(*gate, "beta", 0.5F), 0.5F);
    return fits ? Name(gate->inputs[0]) : Name{};
  }

  /// The axes of a mean that keeps them, if they are stored.
  std::optional<std::vector<std::int64_t>> mean_axes(const GraphNode& mean) const {
    for (const onnx_graph::Attribute& one : mean.attributes) {
      const auto* keep = std::get_if<std::int64_t>(&one.value);
      if (one.name == "keepdims" && keep != nullptr && *keep == 0) return {};
    }
    for (const onnx_graph::Attribute& one : mean.attributes) {
      const auto* axes = std::get_if<std::vector<std::int64_t>>(&one.value);
      if (one.name == "axes" && axes != nullptr) return *axes;
    }
    const tensor::Tensor* axes = mean.inputs.size() > 1 ? constant(mean.inputs[1]) : nullptr;
    if (axes == nullptr || axes->desc().dtype != tensor::DType::i64) return {};
    return std::vector<std::int64_t>(axes->as<std::int64_t>().begin(),
                                     axes->as<std::int64_t>().end());
  }
  /// (x - mean) / sqrt(mean((x - mean)^2) + epsilon) over the last axes.
  std::optional<GraphNode> normalised(const std::string& centred, const std::string& root) const {
    const GraphNode* difference = maker(centred, "Sub", 2);
    const GraphNode* mean =
        difference == nullptr ? nullptr : maker(difference->inputs[1], "ReduceMean", 1);
    const GraphNode* sqrt = maker(root, "Sqrt", 1);
    const GraphNode* raised = sqrt == nullptr ? nullptr : maker(sqrt->inputs[0], "Add", 2);
    if (mean == nullptr || raised == nullptr || mean->inputs[0] != difference->inputs[0]) return {};
    const std::size_t at = constant(raised->inputs[0]) != nullptr ? 0 : 1;
    const tensor::Tensor* epsilon = constant(raised->inputs[at]);
    const GraphNode* variance = maker(raised->inputs[1 - at], "ReduceMean", 1);
    if (variance == nullptr || epsilon == nullptr || epsilon->desc().dtype != tensor::DType::f32 ||
        epsilon->shape().elements() != 1) {
      return {};
    }
    const GraphNode* square = maker(variance->inputs[0], "Pow", 2);
    const bool squared = square != nullptr ? is_number(square->inputs[1], 2)
                                           : (square = maker(variance->inputs[0], "Mul", 2),
                                              square != nullptr && square->inputs[1] == centred);
    const auto axes = mean_axes(*mean);
    if (!squared || square->inputs[0] != centred || !axes || axes != mean_axes(*variance)) {
      return {};
    }
    for (std::size_t i = 0; i < axes->size(); ++i) {  // -2, -1
      if ((*axes)[i] != static_cast<std::int64_t>(i) - static_cast<std::int64_t>(axes->size())) {
        return {};
      }
    }
    return one_node(
        "LayerNormalization", {difference->inputs[0]},
        {{"axis", -static_cast<std::int64_t>(axes->size())}, {"epsilon", epsilon->floats()[0]}});
  }

  PlainGraph& graph_;
  std::map<std::string, const GraphNode*, std::less<>> makers_;
};

}  // namespace

void join_patterns(PlainGraph& graph) {
  PatternFinder(graph).run();
  drop_unused(graph);
}

}  // namespace plait::onnx
