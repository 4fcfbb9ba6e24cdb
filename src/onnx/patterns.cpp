// Layers that exporters spell with several operators: padding before an average, the bias of a
// linear layer, GELU, SiLU and hard swish, ReLU6, means over images.
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "onnx/importer.hpp"

namespace plait::onnx {

namespace {

bool near(float value, float wanted) { return std::abs(value - wanted) < 1e-4F; }

}  // namespace

/// PyTorch pads before it averages.
GraphPart Importer::pad(const NodeReader& node) {
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

bool Importer::has_constant(const NodeReader& node) {
  return node.constant(0) != nullptr || node.constant(1) != nullptr;
}

GraphPart Importer::plus_constant(const NodeReader& node) {
  const std::size_t at = node.constant(0) != nullptr ? 0 : 1;
  const GraphPart other = value(node, 1 - at);
  if (other.part == Part::erf && node.scalar(at) != nullptr && near(*node.scalar(at), 1)) {
    return {.layer = other.layer, .part = Part::raised};
  }
  return with_bias(node, other, at);
}

GraphPart Importer::with_bias(const NodeReader& node, const GraphPart& linear, std::size_t bias) {
  ImportedLayer* found = is_whole(linear) && linear.layer >= 0 ? &layer(linear.layer) : nullptr;
  auto* spec = found == nullptr ? nullptr : std::get_if<ops::Linear>(&found->layer);
  const bool last = linear.layer + 1 == static_cast<int>(network_.layers.size());
  if (spec == nullptr || spec->bias || !last) {
    node.refuse("adds a stored tensor to something other than a linear layer without a bias");
  }
  found->parameters.push_back(vector_of(node, bias, spec->out_features));
  spec->bias = true;
  values_.erase(node.input(1 - bias));  // no later node may read it without the bias
  return linear;
}

GraphPart Importer::arithmetic(const NodeReader& node) {
  const std::string& op = node.op();
  if (op == "Erf") {
    const GraphPart x = value(node, 0);
    if (x.part == Part::scaled) return {.layer = x.layer, .part = Part::erf};
  } else if (op == "Div") {
    const GraphPart x = value(node, 0);
    const float* by = node.scalar(1);
    const bool scaled = by != nullptr && near(*by, std::numbers::sqrt2_v<float>);
    if (is_whole(x) && scaled) return {.layer = x.layer, .part = Part::scaled};
  } else {
    return has_constant(node) ? times_constant(node) : product(node);
  }
  node.refuse("arithmetic that matches no layer of plait");
}

GraphPart Importer::times_constant(const NodeReader& node) {
  const std::size_t at = node.constant(0) != nullptr ? 0 : 1;
  const float* by = node.scalar(at);
  const GraphPart x = value(node, 1 - at);
  if (by != nullptr && is_whole(x) && near(*by, std::numbers::sqrt2_v<float> / 2)) {
    return {.layer = x.layer, .part = Part::scaled};
  }
  if (by != nullptr && near(*by, 0.5F)) {
    if (is_whole(x)) return {.layer = x.layer, .part = Part::half};
    if (x.part == Part::product) {
      return add(node, ops::Activation{ops::ActivationKind::gelu}, {x.layer});
    }
  }
  node.refuse("arithmetic that matches no layer of plait");
}

GraphPart Importer::product(const NodeReader& node) {
  GraphPart a = value(node, 0);
  GraphPart b = value(node, 1);
  for (const std::size_t gate : {std::size_t{1}, std::size_t{0}}) {
    const GraphPart& x = gate == 1 ? a : b;
    const auto kind = gated(gate == 1 ? b : a, x);
    if (kind && becomes(node, gate, ops::Activation{*kind})) return gate == 1 ? b : a;
  }
  if (is_whole(a) && is_whole(b)) {  // the larger comes first
    const tensor::Shape* shape_a = shape_of(a.layer);
    const tensor::Shape* shape_b = shape_of(b.layer);
    const bool swapped =
        shape_a != nullptr && shape_b != nullptr && shape_a->elements() < shape_b->elements();
    return add(node, ops::Multiply{},
               swapped ? std::vector{b.layer, a.layer} : std::vector{a.layer, b.layer});
  }
  if (a.part == Part::raised) std::swap(a, b);
  if (b.part == Part::raised && a.layer == b.layer) {
    if (is_whole(a)) return {.layer = a.layer, .part = Part::product};
    if (a.part == Part::half) {
      return add(node, ops::Activation{ops::ActivationKind::gelu}, {a.layer});
    }
  }
  node.refuse("arithmetic that matches no layer of plait");
}

/// What x times its gate is: silu for sigmoid(x), hard_swish for hard_sigmoid(x).
std::optional<ops::ActivationKind> Importer::gated(const GraphPart& gate,
                                                   const GraphPart& x) const {
  if (!is_whole(gate) || !is_whole(x) || gate.layer < 0) return std::nullopt;
  const ImportedLayer& from = network_.layers[static_cast<std::size_t>(gate.layer)];
  const auto* activation = std::get_if<ops::Activation>(&from.layer);
  if (activation == nullptr || from.inputs[0] != x.layer) return std::nullopt;
  if (activation->kind == ops::ActivationKind::sigmoid) return ops::ActivationKind::silu;
  if (activation->kind == ops::ActivationKind::hard_sigmoid) return ops::ActivationKind::hard_swish;
  return std::nullopt;
}

bool Importer::becomes(const NodeReader& node, std::size_t input, const ops::Operation& other) {
  const int index = value(node, input).layer;
  const bool read_before = std::ranges::any_of(network_.layers, [&](const ImportedLayer& one) {
    return std::ranges::find(one.inputs, index) != one.inputs.end();
  });
  if (read_before || readers_.at(node.input(input)) != 1) return false;
  std::erase_if(values_, [&](const auto& one) { return one.second.layer == index; });
  layer(index).node = node.name();
  layer(index).layer = other;
  return true;
}

/// PyTorch writes ReLU6 as a Relu and a Clip.
GraphPart Importer::clip(const NodeReader& node) {
  const ReadLayer read = *read_layer(node);
  const GraphPart src = value(node, 0);
  const ops::Operation relu = ops::Activation{ops::ActivationKind::relu};
  if (is_whole(src) && src.layer >= 0 && layer(src.layer).layer == relu &&
      becomes(node, 0, read.layer)) {
    return src;
  }
  return add(node, read);
}

/// Over height and width.
GraphPart Importer::reduce_mean(const NodeReader& node) {
  std::vector<std::int64_t> axes = node.whole_numbers(1).value_or(node.integers("axes", {}));
  const int src = whole(node, 0);
  const tensor::Shape* shape = shape_of(src);
  const bool image = shape == nullptr || shape->rank() == 3;
  for (std::int64_t& axis : axes) axis += axis < 0 ? 4 : 0;
  std::ranges::sort(axes);
  if (axes != std::vector<std::int64_t>{2, 3} || !image) {
    node.refuse("only means over height and width of images are supported");
  }
  const GraphPart mean = add(node, ops::GlobalAveragePool{}, {src});
  return node.integer("keepdims", 1) != 0 ? mean : add(node, ops::Flatten{}, {mean.layer});
}

}  // namespace plait::onnx
