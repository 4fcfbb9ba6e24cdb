// A network as parareal sees it: the head, and the places where a piece may begin. Such a place is
// one where a block of the model begins and one tensor crosses.
#pragma once

#include <string>
#include <vector>

#include "plan/network.hpp"

namespace plait::strategy {

/// What of a network a tearing is about.
class TornChain {
 public:
  /// UserError where the layers are not known, or no tensor alone leads to the head. The head is
  /// the last block of the model with parameters, what follows it, and what has none right before
  /// it.
  explicit TornChain(const plan::Network& network);

  const plan::Network& network() const { return network_; }
  int head() const { return head_; }
  /// The tensor that alone crosses the border before block `block`; -1: there are several.
  int crossing(int block) const { return crossing_[static_cast<std::size_t>(block)]; }
  /// Its shape.
  const tensor::Shape& shape(int block) const {
    return shapes_[static_cast<std::size_t>(crossing(block))];
  }
  /// Of the model's block that block `block` belongs to.
  const std::string& name(int block) const {
    return network_.blocks[static_cast<std::size_t>(block)].spec.name;
  }
  /// Whether what crosses that border comes out of a ReLU, pooled, flattened or dropped at most.
  bool is_rectified(int block) const;
  /// Blocks before the head, but not the first, that one tensor leads to.
  const std::vector<int>& borders() const { return borders_; }
  /// Of these, those that a piece may begin with.
  std::vector<int> places() const;

 private:
  void find_crossings();
  void find_head();

  const plan::Network& network_;
  std::vector<tensor::Shape> shapes_;  ///< by tensor
  std::vector<int> crossing_;          ///< by block, and behind the last
  std::vector<int> borders_;
  int head_ = 0;
};

}  // namespace plait::strategy
