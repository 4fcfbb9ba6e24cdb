// A chain of blocks as parareal sees it: the head, and the places where a piece may begin.
#pragma once

#include <vector>

#include "plan/network.hpp"

namespace plait::strategy {

/// What of a network a tearing is about.
class TornChain {
 public:
  /// UserError where it is no chain of blocks with layers. The head is the last block with
  /// parameters, what follows it, and what has none right before it.
  explicit TornChain(const plan::Network& network);

  const plan::Network& network() const { return network_; }
  int head() const { return head_; }
  /// At the border before block `block`.
  const tensor::Shape& shape(int block) const { return shapes_[static_cast<std::size_t>(block)]; }
  /// Whether what crosses that border comes out of a ReLU, pooled, flattened or dropped at most.
  bool is_rectified(int block) const;
  /// Blocks that a piece but the first may begin with.
  std::vector<int> places() const;

 private:
  const plan::Network& network_;
  std::vector<tensor::Shape> shapes_;
  int head_ = 0;
};

}  // namespace plait::strategy
