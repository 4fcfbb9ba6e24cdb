// The head of a chain, the shapes at its borders, and where a piece may begin.
#include "strategy/parareal/torn_chain.hpp"

#include "base/error.hpp"
#include "model/shapes.hpp"
#include "strategy/parareal/coarse.hpp"

namespace plait::strategy {

TornChain::TornChain(const plan::Network& network) : network_(network) {
  model::ModelSpec model{.name = network.name, .input = network.input, .blocks = {}};
  for (int b = 0; b < network.size(); ++b) {
    const plan::NetworkBlock& block = network.blocks[static_cast<std::size_t>(b)];
    if (block.src != b || block.dst != b + 1) {
      user_error("parareal tears a chain, but block '{}' reads tensor {}", block.name, block.src);
    }
    if (block.spec.nodes.empty()) {
      user_error(
          "parareal needs the layers of '{}', which a published profile does not have; use `model`",
          network.name);
    }
    model.blocks.push_back(block.spec);
  }
  shapes_ = model::border_shapes(model);
  head_ = network.size() - 1;
  const auto empty = [&](int block) {
    return network.blocks[static_cast<std::size_t>(block)].parameters == 0;
  };
  while (head_ > 0 && empty(head_)) --head_;
  while (head_ > 1 && empty(head_ - 1)) --head_;
}

bool TornChain::is_rectified(int block) const {
  for (int before = block - 1; before >= 0; --before) {
    const std::vector<model::Node>& nodes =
        network_.blocks[static_cast<std::size_t>(before)].spec.nodes;
    int at = static_cast<int>(nodes.size()) - 1;
    while (at != model::kBlockInput) {
      const model::Node& node = nodes[static_cast<std::size_t>(at)];
      if (const auto* activation = std::get_if<model::ActivationSpec>(&node.layer)) {
        return activation->kind == model::ActivationKind::relu;
      }
      const bool keeps = std::holds_alternative<model::PoolSpec>(node.layer) ||
                         std::holds_alternative<model::GlobalAveragePoolSpec>(node.layer) ||
                         std::holds_alternative<model::DropoutSpec>(node.layer) ||
                         std::holds_alternative<model::FlattenSpec>(node.layer);
      if (!keeps) return false;
      at = node.inputs.front();
    }
  }
  return false;
}

std::vector<int> TornChain::places() const {
  std::vector<int> places;
  for (int b = 1; b < head_; ++b) {
    if (!enter_block("", network_.input, shape(b)).nodes.empty()) places.push_back(b);
  }
  return places;
}

}  // namespace plait::strategy
