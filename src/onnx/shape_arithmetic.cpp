// Lists have at most a few entries: shapes, and numbers that are put together to shapes.
#include "onnx/shape_arithmetic.hpp"

#include <algorithm>

namespace plait::onnx {

namespace {

using Numbers = std::vector<std::int64_t>;
using Result = std::optional<Numbers>;

constexpr std::size_t kMostNumbers = 64;

/// One element of an elementwise operator; none where it has no value.
std::optional<std::int64_t> calculated(const std::string& op, std::int64_t a, std::int64_t b) {
  if (a == onnx_graph::kSymbolic || b == onnx_graph::kSymbolic) return std::nullopt;
  std::int64_t result = 0;
  bool fits = false;
  if (op == "Add") fits = !__builtin_add_overflow(a, b, &result);
  if (op == "Sub") fits = !__builtin_sub_overflow(a, b, &result);
  if (op == "Mul") fits = !__builtin_mul_overflow(a, b, &result);
  if (op == "Div" && b > 0) {
    result = a / b;
    fits = true;
  }
  if (!fits) return std::nullopt;
  return result;
}

Result elementwise(const std::string& op, const Numbers& a, const Numbers& b) {
  if (a.size() != b.size() && a.size() != 1 && b.size() != 1) return std::nullopt;
  Numbers result;
  for (std::size_t i = 0; i < std::max(a.size(), b.size()); ++i) {
    const auto one = calculated(op, a[a.size() == 1 ? 0 : i], b[b.size() == 1 ? 0 : i]);
    if (!one) return std::nullopt;
    result.push_back(*one);
  }
  return result;
}

/// An index from the end counts from -1 down; beyond the ends it is the end.
std::size_t within(std::int64_t index, std::size_t size) {
  const auto end = static_cast<std::int64_t>(size);
  if (index < 0) index = index < -end ? 0 : index + end;
  return static_cast<std::size_t>(std::min(index, end));
}

Result sliced(const NodeReader& node, const std::vector<Numbers>& inputs) {
  const bool steps = inputs.size() > 4 && inputs[4] != Numbers{1};
  const bool axes = inputs.size() > 3 && inputs[3] != Numbers{0};
  if (inputs.size() < 3 || inputs[1].size() != 1 || inputs[2].size() != 1 || steps || axes) {
    node.refuse("only one range of a list of numbers is supported");
  }
  const std::size_t begin = within(inputs[1][0], inputs[0].size());
  const std::size_t end = std::max(begin, within(inputs[2][0], inputs[0].size()));
  return Numbers(inputs[0].begin() + static_cast<std::ptrdiff_t>(begin),
                 inputs[0].begin() + static_cast<std::ptrdiff_t>(end));
}

Result gathered(const Numbers& from, const Numbers& at) {
  Numbers result;
  const auto size = static_cast<std::int64_t>(from.size());
  for (const std::int64_t index : at) {
    if (index < -size || index >= size) return std::nullopt;
    result.push_back(from[static_cast<std::size_t>(index < 0 ? index + size : index)]);
  }
  return result;
}

Result computed(const NodeReader& node, const std::vector<Numbers>& inputs) {
  const std::string& op = node.op();
  if (op == "Identity" || op == "Unsqueeze" || op == "Squeeze") return inputs[0];
  if (op == "Cast" && node.integer("to", 0) == 7) return inputs[0];  // to whole numbers of 64 bits
  if (op == "Slice") return sliced(node, inputs);
  if (op == "Gather" && inputs.size() == 2) return gathered(inputs[0], inputs[1]);
  if (op == "Concat") {
    Numbers all;
    for (const Numbers& one : inputs) all.insert(all.end(), one.begin(), one.end());
    return all;
  }
  return inputs.size() == 2 ? elementwise(op, inputs[0], inputs[1]) : std::nullopt;
}

}  // namespace

tensor::Tensor whole_number_tensor(const std::vector<std::int64_t>& values) {
  tensor::Tensor tensor(tensor::Shape{static_cast<std::int64_t>(values.size())},
                        tensor::DType::i64);
  std::ranges::copy(values, tensor.as<std::int64_t>().begin());
  return tensor;
}

std::optional<tensor::Tensor> shape_arithmetic(const NodeReader& node) {
  std::vector<Numbers> inputs;
  for (std::size_t i = 0; i < node.input_count(); ++i) {
    std::optional<Numbers> numbers = node.whole_numbers(i);
    if (!numbers || numbers->empty() || numbers->size() > kMostNumbers) return std::nullopt;
    inputs.push_back(std::move(*numbers));
  }
  if (inputs.empty() || inputs.size() > kMostNumbers) return std::nullopt;
  const Result result = computed(node, inputs);
  if (!result || result->empty() || result->size() > kMostNumbers) return std::nullopt;
  return whole_number_tensor(*result);
}

}  // namespace plait::onnx
