// The sizes of everything a plan's network keeps, for a number of samples: tensors as the fast
// layers lay them out, what blocks save, their scratch memory and parameters. Follows run/chain.
#pragma once

#include <map>

#include "graph/block_sizes.hpp"
#include "plan/plan.hpp"

namespace plait::plan {

struct NetworkSizes {
  std::vector<tensor::TensorDesc> tensors;
  std::vector<graph::BlockSizes> blocks;  ///< a block that repeats another has its
};

/// Of a network without layers: as the counts of its blocks say, nothing padded.
NetworkSizes network_sizes(const Network& network, std::int64_t samples,
                           const graph::SizeOptions& options);

/// False for networks of which only the costs are known (published profiles).
bool has_layers(const Network& network);

/// Sizes of one network by number of samples, made when first asked for.
class SizesBySamples {
 public:
  SizesBySamples(const Network& network, const graph::SizeOptions& options)
      : network_(network), options_(options) {}
  const NetworkSizes& at(std::int64_t samples);

 private:
  const Network& network_;
  graph::SizeOptions options_;
  std::map<std::int64_t, NetworkSizes> known_;
};

}  // namespace plait::plan
