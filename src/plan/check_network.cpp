// The network of a plan: blocks name tensors and blocks that are there.
#include <fmt/format.h>

#include "plan/check_parts.hpp"

namespace plait::plan {

namespace {

void check_join(const Network& network, const NetworkBlock& block, FaultList& faults) {
  if (block.srcs.size() != 2) {
    faults.add(fmt::format("{} joins {} tensors, not two", block.name, block.srcs.size()));
    return;
  }
  const auto elements = [&](int tensor) {
    return network.tensors[static_cast<std::size_t>(tensor)];
  };
  const std::int64_t first = elements(block.srcs[0]);
  const std::int64_t second = elements(block.srcs[1]);
  if (first != elements(block.dst) || second != elements(block.dst)) {
    faults.add(fmt::format("{} joins tensors of {} and {} elements to one of {}", block.name, first,
                           second, elements(block.dst)));
  }
}

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
  if (block.joins()) check_join(network, block, faults);
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
    check_tensors(network, block, faults);
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
  if (faults.empty() && !network.trained.empty() && network.trained != trained_tensors(network)) {
    faults.add("which tensors have gradients does not follow from the blocks");
  }
  if (faults.empty() && network.last_readers != last_readers(network)) {
    faults.add("the order in which the gradients of tensors are summed is not that of the blocks");
  }
}

}  // namespace plait::plan
