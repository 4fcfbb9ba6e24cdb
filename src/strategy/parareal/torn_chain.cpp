// The head of a chain, the shapes at its borders, and where a piece may begin.
#include "strategy/parareal/torn_chain.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "model/shapes.hpp"
#include "strategy/parareal/coarse.hpp"

namespace plait::strategy {

namespace {

/// "'conv1' and 'up2'": the blocks that write these tensors.
std::string names_of(const plan::Network& network, const std::vector<int>& tensors) {
  std::vector<std::string> names;
  for (const int tensor : tensors) {
    const auto writer = std::ranges::find(network.blocks, tensor, &plan::NetworkBlock::dst);
    names.push_back(writer == network.blocks.end() ? "the input"
                                                   : fmt::format("'{}'", writer->name));
  }
  return fmt::format("{}", fmt::join(names, " and "));
}

}  // namespace

TornChain::TornChain(const plan::Network& network) : network_(network) {
  model::ModelSpec model{.name = network.name, .input = network.input, .blocks = {}};
  for (int b = 0; b < network.size(); ++b) {
    const plan::NetworkBlock& block = network.blocks[static_cast<std::size_t>(b)];
    if (block.srcs != std::vector{b} || block.dst != b + 1) {
      user_error(
          "parareal tears a chain, but block '{}' reads {}: put blocks that share tensors into one",
          block.name, names_of(network, block.srcs));
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
      if (const auto* activation = std::get_if<ops::Activation>(&node.layer)) {
        return activation->kind == ops::ActivationKind::relu;
      }
      const bool keeps = std::holds_alternative<ops::Pool>(node.layer) ||
                         std::holds_alternative<ops::GlobalAveragePool>(node.layer) ||
                         std::holds_alternative<ops::Dropout>(node.layer) ||
                         std::holds_alternative<ops::Flatten>(node.layer);
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
