// The network of a plan: blocks name tensors and blocks that are there.
#include <fmt/format.h>

#include "plan/check_parts.hpp"

namespace plait::plan {

namespace {

void check_join(const Network& network, const NetworkBlock& block, FaultList& faults) {
  if (!in_range(block.other, network.tensors.size())) {
    faults.add(fmt::format("{} joins tensor {}, but there are {}", block.name, block.other,
                           network.tensors.size()));
    return;
  }
  const auto elements = [&](int tensor) {
    return network.tensors[static_cast<std::size_t>(tensor)];
  };
  if (elements(block.src) != elements(block.dst) || elements(block.other) != elements(block.dst)) {
    faults.add(fmt::format("{} joins tensors of {} and {} elements to one of {}", block.name,
                           elements(block.src), elements(block.other), elements(block.dst)));
  }
}

/// Who has the gradient of another one is as long as that one, which has its own.
void check_diffs(const Network& network, FaultList& faults) {
  if (network.diffs.size() != network.tensors.size()) {
    faults.add(fmt::format("{} tensors have gradients, but there are {}", network.diffs.size(),
                           network.tensors.size()));
    return;
  }
  for (std::size_t i = 0; i < network.diffs.size(); ++i) {
    const int of = network.diffs[i];
    if (!in_range(of, network.tensors.size()) ||
        network.diffs[static_cast<std::size_t>(of)] != of ||
        network.tensors[static_cast<std::size_t>(of)] != network.tensors[i]) {
      faults.add(fmt::format("tensor {} cannot have the gradient of tensor {}", i, of));
    }
  }
}

}  // namespace

void check_network(const Network& network, FaultList& faults) {
  if (network.blocks.empty()) faults.add("the network has no blocks");
  for (const NetworkBlock& block : network.blocks) {
    if (!in_range(block.src, network.tensors.size()) ||
        !in_range(block.dst, network.tensors.size())) {
      faults.add(fmt::format("block {} goes from tensor {} to {}, but there are {} tensors",
                             block.name, block.src, block.dst, network.tensors.size()));
    } else if (block.joins()) {
      check_join(network, block, faults);
    }
    const auto earlier = static_cast<std::size_t>(&block - network.blocks.data());
    if (block.repeats >= 0 &&
        (!in_range(block.repeats, earlier) ||
         network.blocks[static_cast<std::size_t>(block.repeats)].repeats >= 0)) {
      faults.add(
          fmt::format("block {} repeats block {}, which is no earlier one with weights of "
                      "its own",
                      block.name, block.repeats));
      continue;
    }
    const int home = block.repeats >= 0 ? block.repeats : static_cast<int>(earlier);
    const int sets = network.blocks[static_cast<std::size_t>(home)].state_sets;
    if (sets < 1 || !in_range(block.state_set, static_cast<std::size_t>(sets))) {
      faults.add(fmt::format("block {} has set {} of its running statistics, and there are {}",
                             block.name, block.state_set, sets));
    }
  }
  if (!network.diffs.empty()) check_diffs(network, faults);
}

}  // namespace plait::plan
