// Which nodes of a block are one layer call.
#include "model/counted_steps.hpp"

#include <algorithm>

namespace plait::model {

std::vector<CountedStep> fused_steps(const BlockSpec& block, int inputs) {
  const auto tensor_of = [&](int input) {
    return input < 0 ? number_of_input(input) : inputs + input;
  };
  std::vector<int> readers(block.nodes.size(), 0);
  for (const Node& node : block.nodes) {
    for (const int input : node.inputs) {
      if (input >= 0) ++readers[static_cast<std::size_t>(input)];
    }
  }
  std::vector<bool> absorbed(block.nodes.size(), false);
  std::vector<CountedStep> steps;
  for (std::size_t i = 0; i < block.nodes.size(); ++i) {
    if (absorbed[i]) continue;
    const Node& node = block.nodes[i];
    CountedStep step{.spec = node.layer, .srcs = {}, .dst = inputs + static_cast<int>(i)};
    for (const int input : node.inputs) step.srcs.push_back(tensor_of(input));
    const auto reads = [&](const Node& next) {
      return std::ranges::find(next.inputs, static_cast<int>(i)) != next.inputs.end();
    };
    const auto next = std::ranges::find_if(block.nodes, reads);
    if (readers[i] == 1) {
      const auto at = static_cast<std::size_t>(next - block.nodes.begin());
      const auto* activation = std::get_if<ops::Activation>(&next->layer);
      const bool relu = activation != nullptr && activation->kind == ops::ActivationKind::relu;
      bool fuses = std::holds_alternative<ops::BatchNorm>(node.layer) && relu;
      if (std::holds_alternative<ops::Convolution>(node.layer) &&
          std::holds_alternative<ops::Add>(next->layer)) {
        const bool first = next->inputs[0] == static_cast<int>(i);
        const int skip = next->inputs[first ? 1 : 0];
        fuses = step.residual = skip < static_cast<int>(i);
        if (fuses) step.srcs.push_back(tensor_of(skip));
      }
      if (fuses) {
        step.dst = inputs + static_cast<int>(at);
        absorbed[at] = true;
      }
    }
    steps.push_back(std::move(step));
  }
  return steps;
}

}  // namespace plait::model
