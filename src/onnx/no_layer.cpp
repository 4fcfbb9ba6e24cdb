// Looks at operator, attributes and constants; shapes of computed values are not known here.
#include "onnx/no_layer.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "onnx/unsupported.hpp"
#include "ops/table.hpp"

namespace plait::onnx {

namespace {

/// "a constant of 6x12".
std::string constant_text(const tensor::Tensor& constant) {
  return constant.shape().rank() == 0 ? "a constant number"
                                      : fmt::format("a constant of {}", constant.shape());
}

std::string layer_name(const std::string& op) {
  const auto info = std::ranges::find(ops::operations(), op, &ops::OperationInfo::onnx);
  return info == ops::operations().end() ? "" : std::string(info->name);
}

/// Of arithmetic and joins with a stored operand.
std::string with_constant(const NodeReader& node, std::size_t i) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kVerbs{
      {{"Add", "adds"},
       {"Sub", "subtracts"},
       {"Mul", "multiplies by"},
       {"Div", "divides by"},
       {"Concat", "concatenates"}}};
  const auto* verb = std::ranges::find(kVerbs, node.op(), &decltype(kVerbs)::value_type::first);
  const std::string what = constant_text(*node.constant(i));
  const std::string name = layer_name(node.op());
  if (verb == kVerbs.end()) {
    return fmt::format("its input is {}, but plait's layers take computed tensors", what);
  }
  const std::string does = fmt::format("{} {}", verb->second, what);
  if (name.empty()) return fmt::format("{}, which plait has no layer for", does);
  return fmt::format("{}, but plait's {} takes computed tensors", does, name);
}

std::string of_gather(const NodeReader& node) {
  const tensor::Tensor* table = node.constant(0);
  if (table == nullptr) return "picks from a computed tensor, but plait only slices ranges";
  const std::int64_t axis = node.integer("axis", 0);
  if (axis == 0 && table->shape().rank() == 2) {
    return "its indices are not the network's input, as those of plait's embedding are";
  }
  return fmt::format("picks along axis {} of {}, but plait's embedding takes rows of a matrix",
                     axis, constant_text(*table));
}

std::string of_mean(const NodeReader& node) {
  const auto stored = node.whole_numbers(1);
  return fmt::format("is the mean over axes [{}], but plait has only that of images over 2 and 3",
                     fmt::join(stored ? *stored : node.integers("axes", {}), ", "));
}

bool is_transposed_image(const NodeReader& node) {
  if (node.op() != "Transpose") return false;
  const std::vector<std::int64_t> order = node.integers("perm", {});
  return order.size() > 2 && !keeps_order(order) &&
         order != std::vector<std::int64_t>{0, 2, 1, 3, 4};
}

}  // namespace

bool is_no_layer(const NodeReader& node) {
  return !knows_operator(node.op()) || is_transposed_image(node);
}

std::string why_no_layer(const NodeReader& node, const std::string& output) {
  const std::string& op = node.op();
  if ((op == "Softmax" || op == "LogSoftmax") && node.output() == output) {
    return "plait's loss contains it already, so save the network without it";
  }
  if (op == "Div" && node.constant(1) != nullptr) return with_constant(node, 1);
  if (!knows_operator(op)) return "";
  if (op == "Gather") return of_gather(node);
  const bool joins = op == "Add" || op == "Sub" || op == "Mul" || op == "Div" || op == "Concat";
  for (std::size_t i = 0; i < (joins ? node.input_count() : 1); ++i) {
    if (node.constant(i) != nullptr) return with_constant(node, i);
  }
  if (op == "Transpose") {
    const std::vector<std::int64_t> order = node.integers("perm", {});
    return fmt::format(
        "orders the axes {}, but plait transposes only in a channel shuffle",
        order.empty() ? "backwards" : fmt::format("as [{}]", fmt::join(order, ", ")));
  }
  if (op == "Concat") {
    return fmt::format("concatenates along axis {}, but plait's concat joins channels, axis 1",
                       node.integer("axis", 1));
  }
  if (op == "ReduceMean") return of_mean(node);
  if (op == "Cast") {
    return fmt::format("casts to ONNX's type {}, but plait computes with floats",
                       node.integer("to", 0));
  }
  return "";
}

}  // namespace plait::onnx
