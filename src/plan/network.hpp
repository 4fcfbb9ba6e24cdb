// Network: what a plan computes, as the planner sees it: blocks that read one tensor and write
// another. A plain model is the chain where block i reads tensor i and writes tensor i + 1; a
// strategy may add blocks and tensors of its own.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/spec.hpp"

namespace plait {

struct NetworkBlock {
  std::string name;
  int src = 0;  ///< tensor; dst: backward_data works in place, forward is another block's
  int dst = 0;
  std::int64_t parameters = 0;  ///< trainable elements
  std::int64_t state = 0;       ///< running statistics, elements
  std::int64_t macs = 0;        ///< forward, one sample
  /// Elements per sample that forward leaves for backward beside src and dst.
  std::int64_t inner_elements = 0;
  BlockSpec spec{};   ///< without nodes when only its costs are known (published profiles)
  bool adds = false;  ///< forward adds to dst what others have written there
  /// Of a piece of a block (Network::cut): the block of the model, and the piece's share of its
  /// work.
  int whole = -1;
  double share = 1;
};

struct Network {
  std::string name;
  std::vector<NetworkBlock> blocks;
  std::vector<std::int64_t> tensors;  ///< elements per sample; tensor 0 is the input
  Shape input{};
  bool cut = false;  ///< its blocks are pieces of the model's (ParameterPart names them)

  int size() const { return static_cast<int>(blocks.size()); }
  std::int64_t parameters() const;
  std::int64_t macs() const;
  int logits() const { return blocks.back().dst; }
};

Network make_network(const ModelSpec& model);

/// Of names, sizes and layers: equal networks, equal text.
std::string network_hash(const Network& network);

}  // namespace plait
