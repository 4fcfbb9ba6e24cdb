// One line for all nodes without a layer, grouped by operator and reason in the order of their
// first use.
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

void Unsupported::add(const NodeReader& node, std::string why) {
  std::string op = checkpoint::shown(node.op());
  nodes_.push_back(
      {op.substr(1, op.size() - 2), checkpoint::shown(node.node().name), std::move(why)});
}

/// Of all nodes that are refused as this one is: "Elu ('a' and 1 more)"; empty where an earlier one
/// speaks for it.
std::string Unsupported::text(const Refused& first) const {
  const auto same = [&](const Refused& one) { return one.op == first.op && one.why == first.why; };
  if (&*std::ranges::find_if(nodes_, same) != &first) return "";
  const std::ptrdiff_t count = std::ranges::count_if(nodes_, same);
  const std::string more = count == 1 ? "" : fmt::format(" and {} more", count - 1);
  const std::string why = first.why.empty() ? "" : ": " + first.why;
  return fmt::format("{} ({}{}{})", first.op, first.name, more, why);
}

void Unsupported::refuse_any(const std::string& source) const {
  if (nodes_.empty()) return;
  if (nodes_.size() == 1) {
    const Refused& one = nodes_[0];
    user_error("{}: node {} ({}): {}", source, one.name, one.op,
               one.why.empty() ? "plait has no layer for it" : one.why);
  }
  constexpr std::size_t kMost = 12;
  std::vector<std::string> operators;
  std::size_t more = 0;
  for (const Refused& one : nodes_) {
    std::string all = operators.size() + more < 10 * kMost ? text(one) : "";
    if (!all.empty() && operators.size() == kMost) ++more;
    if (!all.empty() && operators.size() < kMost) operators.push_back(std::move(all));
  }
  if (more > 0) operators.push_back("and others");
  const bool unknown =
      std::ranges::all_of(nodes_, [](const Refused& one) { return one.why.empty(); });
  user_error("{}: plait {} these nodes: {}", source, unknown ? "has no layer for" : "cannot read",
             fmt::join(operators, ", "));
}

}  // namespace plait::onnx
