// Keeps folded sizes, and reads those that nodes are told.
#include "onnx/size_table.hpp"

#include "checkpoint/shown.hpp"

namespace plait::onnx {

std::optional<Sizes> SizeTable::find(const NodeReader& node, std::size_t i) const {
  if (!node.has_input(i)) return {};
  const auto found = sizes_.find(node.input(i));
  if (found != sizes_.end()) return found->second;
  const tensor::Tensor* tensor = node.constant(i);
  return tensor == nullptr ? std::nullopt : sizes_of(*tensor);
}

bool SizeTable::fold(const NodeReader& node) {
  std::vector<Sizes> inputs;
  for (std::size_t i = 0; node.has_input(i); ++i) {
    const std::optional<Sizes> one = find(node, i);
    if (!one) return false;
    inputs.push_back(*one);
  }
  std::optional<Sizes> result =
      node.op() == "Shape" && !inputs.empty() ? shape_of(inputs[0]) : fold_sizes(node, inputs);
  return result && put(node, std::move(*result));
}

bool SizeTable::put(const NodeReader& node, Sizes result) {
  const auto integers = integers_of(result);
  if (integers && result.columns == 0) {
    tensor::Tensor tensor(result.scalar ? tensor::Shape{} : tensor::Shape{std::ssize(*integers)},
                          result.real ? tensor::DType::f32 : tensor::DType::i64);
    for (std::size_t i = 0; i < integers->size(); ++i) {
      if (result.real) tensor.floats()[i] = static_cast<float>(result.values[i]);
      if (!result.real) tensor.as<std::int64_t>()[i] = (*integers)[i];
    }
    constants_[node.output()] = tensor;
  }
  sizes_[node.output()] = std::move(result);
  return true;
}

Sizes SizeTable::said(const NodeReader& node, const char* attribute, std::size_t i) const {
  if (const auto found = find(node, i)) return *found;
  if (node.has_input(i)) {
    node.refuse("{} is computed in a way that plait does not fold",
                checkpoint::shown(node.input(i)));
  }
  Sizes stated;
  for (const std::int64_t one : node.integers(attribute, {})) {
    stated.values.push_back(static_cast<double>(one));
  }
  return stated;
}

std::vector<std::int64_t> SizeTable::integers(const NodeReader& node, const char* attribute,
                                              std::size_t i) const {
  const auto integers = integers_of(said(node, attribute, i));
  if (!integers) node.refuse("{} depends on the number of samples", attribute);
  return *integers;
}

}  // namespace plait::onnx
