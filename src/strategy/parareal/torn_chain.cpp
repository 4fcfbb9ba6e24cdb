// Finds the tensors that cross alone, the head, and where a piece may begin.
#include "strategy/parareal/torn_chain.hpp"

#include <algorithm>
#include <set>

#include "base/error.hpp"
#include "strategy/parareal/coarse.hpp"

namespace plait::strategy {

namespace {

/// "'conv1' and 'up2'": the blocks that write these tensors.
std::string names_of(const plan::Network& network, const std::set<int>& tensors) {
  std::vector<std::string> names;
  for (const int tensor : tensors) {
    const auto writer = std::ranges::find(network.blocks, tensor, &plan::NetworkBlock::dst);
    names.push_back(writer == network.blocks.end() ? "the input"
                                                   : fmt::format("'{}'", writer->name));
  }
  return fmt::format("{}", fmt::join(names, " and "));
}

/// Tensors that blocks before `border` write, or the input, and blocks behind it read.
std::set<int> crossing_tensors(const plan::Network& network, int border) {
  std::set<int> written{0};
  std::set<int> crossing;
  for (int b = 0; b < network.size(); ++b) {
    const plan::NetworkBlock& block = network.blocks[static_cast<std::size_t>(b)];
    if (b < border) written.insert(block.dst);
    for (const int tensor : block.srcs) {
      if (b >= border && written.contains(tensor)) crossing.insert(tensor);
    }
  }
  return crossing;
}

}  // namespace

TornChain::TornChain(const plan::Network& network) : network_(network) {
  for (const plan::NetworkBlock& block : network.blocks) {
    if (block.spec.nodes.empty()) {
      user_error(
          "parareal needs the layers of '{}', which a published profile does not have; use `model`",
          network.name);
    }
  }
  shapes_ = plan::tensor_shapes(network);
  find_crossings();
  find_head();
  for (int b = 1; b < head_; ++b) {
    if (plan::begins_module(network, b) && crossing(b) > 0) borders_.push_back(b);
  }
  if (head_ == 0 && network.size() > 1 && !plan::is_chain(network)) {
    const auto second = std::ranges::find_if(network.blocks, [&](const plan::NetworkBlock& block) {
      const int b = static_cast<int>(&block - network.blocks.data());
      return b > 0 && plan::begins_module(network, b);
    });
    if (second == network.blocks.end()) return;
    const int border = static_cast<int>(second - network.blocks.begin());
    user_error(
        "parareal tears where one tensor crosses, and '{}' has no such place: before '{}' {} cross",
        network.name, second->spec.name, names_of(network, crossing_tensors(network, border)));
  }
}

void TornChain::find_crossings() {
  std::vector<int> last(network_.tensors.size(), -1);
  for (int b = 0; b < network_.size(); ++b) {
    for (const int tensor : network_.blocks[static_cast<std::size_t>(b)].srcs) {
      last[static_cast<std::size_t>(tensor)] = b;
    }
  }
  last[static_cast<std::size_t>(network_.logits())] = network_.size();
  std::set<int> open{0};
  for (int b = 0; b <= network_.size(); ++b) {
    std::erase_if(open, [&](int tensor) { return last[static_cast<std::size_t>(tensor)] < b; });
    crossing_.push_back(open.size() == 1 ? *open.begin() : -1);
    if (b < network_.size()) open.insert(network_.blocks[static_cast<std::size_t>(b)].dst);
  }
}

void TornChain::find_head() {
  const auto module_before = [&](int block) {
    do --block;
    while (block > 0 && !plan::begins_module(network_, block));
    return std::max(0, block);
  };
  const auto is_empty = [&](int first, int end) {
    for (int b = first; b < end; ++b) {
      if (network_.blocks[static_cast<std::size_t>(b)].parameters > 0) return false;
    }
    return true;
  };
  head_ = module_before(network_.size());
  while (head_ > 0 && is_empty(head_, network_.size())) head_ = module_before(head_);
  while (head_ > 0) {
    const int before = module_before(head_);
    const bool joins = before > 0 && is_empty(before, head_);
    if (!joins && crossing(head_) > 0) break;
    head_ = before;
  }
}

bool TornChain::is_rectified(int block) const {
  int tensor = crossing(block);
  while (tensor > 0) {
    const auto writer = std::ranges::find(network_.blocks, tensor, &plan::NetworkBlock::dst);
    const std::vector<graph::Node>& nodes = writer->spec.nodes;
    int at = static_cast<int>(nodes.size()) - 1;
    while (at >= 0) {
      const graph::Node& node = nodes[static_cast<std::size_t>(at)];
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
    tensor = writer->srcs[static_cast<std::size_t>(graph::number_of_input(at))];
  }
  return false;
}

std::vector<int> TornChain::places() const {
  std::vector<int> places;
  if (network_.input_type != tensor::DType::f32) return places;  // no coarse part reads ids
  for (const int b : borders_) {
    if (!enter_block("", network_.input, shape(b)).nodes.empty()) places.push_back(b);
  }
  return places;
}

}  // namespace plait::strategy
