// Looks up where constants come from.
#include "onnx/stored.hpp"

namespace plait::onnx {

namespace {

bool is_literal(const PlainGraph& graph, const NodeReader& node, std::size_t input) {
  return node.has_input(input) && graph.literals.contains(node.input(input));
}

}  // namespace

StoredTensor stored_tensor(const PlainGraph& graph, const NodeReader& node, std::size_t input) {
  if (is_literal(graph, node, input)) return {};
  const std::string& read = node.input(input);
  const auto copy = graph.copies.find(read);
  if (copy == graph.copies.end()) return {.name = read, .read = read};
  const ConstantCopy& from = copy->second;
  return {.name = from.of, .read = read, .turned = from.turned, .merged = from.merged};
}

std::vector<StoredTensor> stored_tensors(const PlainGraph& graph, const NodeReader& node,
                                         bool turned) {
  std::vector<StoredTensor> tensors;
  for (std::size_t i = 1; node.has_input(i); ++i) tensors.push_back(stored_tensor(graph, node, i));
  if (!tensors.empty()) tensors[0].turned = tensors[0].turned != turned;
  return tensors;
}

std::string trained_by_plait_only(const PlainGraph& graph, const NodeReader& node) {
  const auto line = [&](std::string_view what) {
    return fmt::format("node {}: {}", node.name(), what);
  };
  if (node.op() == "BatchNormalization" && is_literal(graph, node, 1) &&
      is_literal(graph, node, 2)) {
    return line("its weight and bias are fixed in the file, but plait's batch_norm trains them");
  }
  if (node.op() == "LayerNormalization" && node.has_input(1) && !node.has_input(2)) {
    return line("it has no bias in the file; plait's layer_norm has one, which is trained from 0");
  }
  return "";
}

}  // namespace plait::onnx
