// Published profiles for tests of strategies: the chain of merged blocks that a graph is compared
// with.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "cost/published.hpp"

namespace plait::strategy {

/// Convolutions, linear layers and the like begin a block; normalisation, pools and joins belong to
/// the block before them.
inline bool begins_merged_block(const plan::NetworkBlock& block) {
  return block.parameters > 0 && block.name.find("norm") == std::string::npos;
}

/// The nodes between two matrices as one block. What crosses a border is one tensor of the size of
/// all that crosses there, and costs are sums.
inline cost::PublishedProfile merged_chain(const cost::PublishedProfile& graph) {
  const plan::Network& network = graph.network;
  std::vector<int> last(network.tensors.size(), -1);
  for (int b = 0; b < network.size(); ++b) {
    for (const int tensor : network.blocks[static_cast<std::size_t>(b)].srcs) {
      last[static_cast<std::size_t>(tensor)] = b;
    }
  }
  cost::PublishedProfile chain{.batch = graph.batch, .source = graph.source};
  plan::Network& merged = chain.network;
  merged.name = network.name;
  merged.input = network.input;
  merged.tensors = {network.tensors.front()};
  for (int b = 0; b < network.size(); ++b) {
    const plan::NetworkBlock& one = network.blocks[static_cast<std::size_t>(b)];
    if (b == 0 || begins_merged_block(one)) {
      merged.blocks.push_back(
          {.name = one.name, .srcs = {merged.size()}, .dst = merged.size() + 1});
      merged.tensors.push_back(0);
      chain.blocks.emplace_back();
    } else {
      merged.blocks.back().inner_elements += network.tensors[static_cast<std::size_t>(b)];
    }
    merged.blocks.back().parameters += one.parameters;
    const cost::BlockSeconds& seconds = graph.blocks[static_cast<std::size_t>(b)];
    chain.blocks.back().forward += seconds.forward;
    chain.blocks.back().backward_data += seconds.backward_data;
    chain.blocks.back().backward_weights += seconds.backward_weights;
    std::int64_t crossing = 0;  // behind this node
    for (int tensor = 1; tensor <= b + 1; ++tensor) {
      const bool crosses = last[static_cast<std::size_t>(tensor)] > b || tensor == network.size();
      crossing += crosses ? network.tensors[static_cast<std::size_t>(tensor)] : 0;
    }
    merged.tensors.back() = crossing;
  }
  return chain;
}

}  // namespace plait::strategy
