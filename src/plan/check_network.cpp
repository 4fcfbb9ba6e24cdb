// The network of a plan: blocks name tensors and blocks that are there.
#include <fmt/format.h>

#include "plan/check_parts.hpp"

namespace plait::plan {

namespace {

/// Tensors that are there, each read once.
void check_tensors(const Network& network, const NetworkBlock& block, FaultList& faults) {
  const auto there = [&](int tensor) { return in_range(tensor, network.tensors.size()); };
  if (block.srcs.empty() || !std::ranges::all_of(block.srcs, there) || !there(block.dst)) {
    faults.add(fmt::format("block {} goes from tensor {} to {}, but there are {} tensors",
                           block.name, fmt::join(block.srcs, " and "), block.dst,
                           network.tensors.size()));
    return;
  }
  std::vector<int> sorted = block.srcs;
  std::ranges::sort(sorted);
  if (const auto twice = std::ranges::adjacent_find(sorted); twice != sorted.end()) {
    faults.add(fmt::format("block {} names tensor {} twice", block.name, *twice));
  }
}

/// As many weights as their owner has.
void check_tied(const Network& network, int index, FaultList& faults) {
  const NetworkBlock& block = network.blocks[static_cast<std::size_t>(index)];
  const NetworkBlock& owner = network.blocks[static_cast<std::size_t>(network.owner_of(index))];
  if (owner.parameters == block.parameters && !(network.is_tied(index) && block.parameters == 0)) {
    return;
  }
  faults.add(fmt::format("block {} has {} parameters and uses those of block {}, which has {}",
                         block.name, block.parameters, owner.name, owner.parameters));
}

}  // namespace

void check_network(const Network& network, FaultList& faults) {
  if (network.blocks.empty()) faults.add("the network has no blocks");
  for (const NetworkBlock& block : network.blocks) {
    check_tensors(network, block, faults);
    const auto earlier = static_cast<std::size_t>(&block - network.blocks.data());
    if (!block.owns_weights() &&
        (!in_range(block.weights_of, earlier) ||
         !network.blocks[static_cast<std::size_t>(block.weights_of)].owns_weights())) {
      faults.add(
          fmt::format("block {} uses the weights of block {}, which is no earlier one with weights "
                      "of its own",
                      block.name, block.weights_of));
      continue;
    }
    const int home = network.home_of(static_cast<int>(earlier));
    check_tied(network, static_cast<int>(earlier), faults);
    const int sets = network.blocks[static_cast<std::size_t>(home)].state_sets;
    if (sets < 1 || !in_range(block.state_set, static_cast<std::size_t>(sets))) {
      faults.add(fmt::format("block {} has set {} of its running statistics, and there are {}",
                             block.name, block.state_set, sets));
    }
  }
  if (faults.empty() && !network.trained.empty() && network.trained != trained_tensors(network)) {
    faults.add("which tensors have gradients does not follow from the blocks");
  }
  if (faults.empty() && network.last_readers != last_readers(network)) {
    faults.add("the order in which the gradients of tensors are summed is not that of the blocks");
  }
}

}  // namespace plait::plan
