// One line for all nodes without a layer, grouped by operator in the order of their first use.
#include "onnx/unsupported.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "base/error.hpp"
#include "checkpoint/shown.hpp"
#include "onnx/patterns.hpp"
#include "onnx/sizes.hpp"
#include "ops/table.hpp"

namespace plait::onnx {

bool knows_operator(const std::string& op) {
  static constexpr std::array kOthers{
      "MatMul", "Reshape", "Transpose",          "Split",  "ReduceMean", "Pad", "Dropout",
      "Clip",   "Gelu",    "LayerNormalization", "Resize", kSilu};
  if (std::ranges::find(kOthers, op) != kOthers.end() || computes_sizes(op)) return true;
  return std::ranges::any_of(ops::operations(), [&](const ops::OperationInfo& info) {
    return !info.onnx.empty() && info.onnx == op;
  });
}

void Unsupported::add(const NodeReader& node) {
  std::string op = checkpoint::shown(node.op());
  nodes_.emplace_back(op.substr(1, op.size() - 2), checkpoint::shown(node.node().name));
}

void Unsupported::refuse_any(const std::string& source) const {
  if (nodes_.empty()) return;
  if (nodes_.size() == 1) {
    user_error("{}: node {} ({}): plait has no layer for it", source, nodes_[0].second,
               nodes_[0].first);
  }
  std::vector<std::string> operators;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const std::string& op = nodes_[i].first;
    const auto same = [&](const auto& one) { return one.first == op; };
    if (std::any_of(nodes_.begin(), nodes_.begin() + static_cast<std::ptrdiff_t>(i), same))
      continue;
    const std::ptrdiff_t count = std::ranges::count_if(nodes_, same);
    operators.push_back(count == 1
                            ? fmt::format("{} ({})", op, nodes_[i].second)
                            : fmt::format("{} ({} and {} more)", op, nodes_[i].second, count - 1));
  }
  user_error("{}: plait has no layer for these nodes: {}", source, fmt::join(operators, ", "));
}

}  // namespace plait::onnx
