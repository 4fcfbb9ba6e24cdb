// LayoutBridge: parameters between two chains of one network built for different batch sizes. Most
// blocks lay their weights out alike whatever the batch; for the others the bridge keeps a copy in
// the second layout and converts through the plain one.
#pragma once

#include <vector>

#include "run/parameters.hpp"

namespace plait::run {

class LayoutBridge {
 public:
  /// Both chains must outlive the bridge. `home` is the layout of the parameter store.
  LayoutBridge(const Chain& home, const Chain& other);

  bool same(std::size_t block) const { return blocks_[block].weights.empty(); }
  /// Of a block that is not the same: weights, gradient and state in the other layout.
  BlockMemory& memory(std::size_t block) { return blocks_[block]; }

  /// From arrays in the home layout.
  void fetch(std::size_t block, const float* weights, const float* state);
  void return_state(std::size_t block, float* state) const;
  /// Into `gradient`, home layout.
  void return_gradient(std::size_t block, std::span<float> gradient) const;

 private:
  bool equal_layouts(std::size_t block) const;

  const Chain& home_;
  const Chain& other_;
  std::vector<BlockMemory> blocks_;
};

}  // namespace plait::run
