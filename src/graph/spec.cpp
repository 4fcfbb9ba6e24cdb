// The small functions that ask a model for its graph, and build a block.
#include "graph/spec.hpp"

namespace plait::graph {

std::string full_name(const BlockSpec& block, const Node& node) {
  return node.name.empty() ? block.name : block.name + "." + node.name;
}

std::vector<int> inputs_of(const ModelSpec& model, std::size_t index) {
  const std::vector<int>& inputs = model.blocks[index].inputs;
  return inputs.empty() ? std::vector{static_cast<int>(index) - 1} : inputs;
}

bool is_chain(const ModelSpec& model) {
  for (std::size_t i = 0; i < model.blocks.size(); ++i) {
    if (inputs_of(model, i) != std::vector{static_cast<int>(i) - 1}) return false;
  }
  return true;
}

int BlockSpec::then(std::string node_name, ops::Operation layer) {
  const int previous = static_cast<int>(nodes.size()) - 1;  // -1 is kBlockInput
  return join(std::move(node_name), std::move(layer), {previous});
}

int BlockSpec::join(std::string node_name, ops::Operation layer, std::vector<int> node_inputs) {
  nodes.push_back({std::move(node_name), std::move(layer), std::move(node_inputs)});
  return static_cast<int>(nodes.size()) - 1;
}

}  // namespace plait::graph
