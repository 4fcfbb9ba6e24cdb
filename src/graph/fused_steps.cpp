// Finds the pairs of nodes that one layer call computes.
#include "graph/fused_steps.hpp"

#include <algorithm>

namespace plait::graph {

namespace {

std::vector<int> reader_counts(const BlockSpec& block) {
  std::vector<int> counts(block.nodes.size(), 0);
  for (const Node& node : block.nodes) {
    for (const int input : node.inputs) {
      if (input >= 0) ++counts[static_cast<std::size_t>(input)];
    }
  }
  return counts;
}

bool is_relu(const ops::Operation& layer) {
  const auto* activation = std::get_if<ops::Activation>(&layer);
  return activation != nullptr && activation->kind == ops::ActivationKind::relu;
}

/// Its kernel adds another tensor to the result.
bool adds_another(const ops::Operation& layer) {
  return std::holds_alternative<ops::Convolution>(layer) ||
         std::holds_alternative<ops::SparseLinear>(layer);
}

bool ends_sparse(const ops::Operation& layer) {
  const auto* activation = std::get_if<ops::Activation>(&layer);
  return activation != nullptr && (activation->kind == ops::ActivationKind::relu ||
                                   activation->kind == ops::ActivationKind::tanh ||
                                   activation->kind == ops::ActivationKind::clip);
}

}  // namespace

std::vector<FusedStep> fused_steps(const BlockSpec& block, int inputs) {
  const auto tensor_of = [&](int input) {
    return input < 0 ? number_of_input(input) : inputs + input;
  };
  const std::vector<int> readers = reader_counts(block);
  std::vector<bool> absorbed(block.nodes.size(), false);
  std::vector<FusedStep> steps;
  for (std::size_t i = 0; i < block.nodes.size(); ++i) {
    if (absorbed[i]) continue;
    const Node& node = block.nodes[i];
    const int index = static_cast<int>(i);
    FusedStep step{.node = index, .last = index, .dst = inputs + index};
    for (const int input : node.inputs) step.srcs.push_back(tensor_of(input));
    if (readers[i] == 1) {
      const auto next = std::ranges::find_if(block.nodes, [&](const Node& one) {
        return std::ranges::find(one.inputs, index) != one.inputs.end();
      });
      if (std::holds_alternative<ops::BatchNorm>(node.layer)) step.relu = is_relu(next->layer);
      if (adds_another(node.layer) && std::holds_alternative<ops::Add>(next->layer)) {
        const int skip = next->inputs[next->inputs[0] == index ? 1 : 0];
        step.residual = skip < index;
        if (step.residual) step.srcs.push_back(tensor_of(skip));
      }
      if (step.relu || step.residual) {
        step.last = static_cast<int>(next - block.nodes.begin());
        step.dst = inputs + step.last;
        absorbed[static_cast<std::size_t>(step.last)] = true;
      }
    }
    steps.push_back(std::move(step));
  }
  return steps;
}

bool ends_in_activation(const BlockSpec& block, const std::vector<FusedStep>& steps,
                        std::size_t i) {
  const auto layer = [&](const FusedStep& step) -> const ops::Operation& {
    return block.nodes[static_cast<std::size_t>(step.node)].layer;
  };
  if (i + 1 >= steps.size() || !std::holds_alternative<ops::SparseLinear>(layer(steps[i])) ||
      !ends_sparse(layer(steps[i + 1]))) {
    return false;
  }
  std::ptrdiff_t readers = 0;
  for (const FusedStep& step : steps) readers += std::ranges::count(step.srcs, steps[i].dst);
  return readers == 1 && steps[i + 1].srcs == std::vector{steps[i].dst};
}

}  // namespace plait::graph
