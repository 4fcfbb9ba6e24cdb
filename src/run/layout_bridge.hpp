// LayoutBridge: parameters between two chains of one network built for different batch sizes, and
// between blocks that use the same weights. Most blocks lay their weights out alike whatever the
// batch; for the others the bridge keeps a copy in the second layout and converts through the plain
// one.
#pragma once

#include <vector>

#include "run/parameters.hpp"

namespace plait::run {

class LayoutBridge {
 public:
  /// Both chains must outlive the bridge; they may be the same. `home` is the layout of the
  /// parameter store, in which weights and gradients lie as for the owner of the weights.
  LayoutBridge(const Chain& home, const Chain& other);

  bool same(std::size_t block) const { return blocks_[block].weights.empty(); }
  /// Of all blocks.
  bool all_same() const;
  /// Of a block that is not the same: weights, gradient and state in the other layout.
  BlockMemory& memory(std::size_t block) { return blocks_[block]; }

  /// From arrays in the layout of the store.
  void fetch(std::size_t block, const float* weights, const float* state);
  void return_state(std::size_t block, float* state) const;
  /// Into `gradient`, in the layout of the store.
  void return_gradient(std::size_t block, std::span<float> gradient) const;

 private:
  /// The block as which parameters lie in the store: the owner's weights, statistics of its own.
  const kernels::Block& stored(std::size_t block, bool trainable) const;
  bool equal_layouts(std::size_t block) const;

  const Chain& home_;
  const Chain& other_;
  std::vector<BlockMemory> blocks_;
};

}  // namespace plait::run
