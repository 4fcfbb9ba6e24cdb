// Workspace: the memory of a forward pass that nothing follows (evaluation): every tensor lives
// only until the next block has read it.
#pragma once

#include <span>

#include "run/chain.hpp"
#include "run/parameters.hpp"

namespace plait {

class Workspace {
 public:
  explicit Workspace(const Chain& chain);

  /// The images, as the first block wants them; set before forward of block 0.
  void set_src(const float* images) { src_ = images; }
  /// Of the last block.
  std::span<const float> logits() const;
  /// The memory of block i's forward. Blocks go in order: neighbours share two buffers.
  BlockArgs args(std::size_t i, BlockMemory& parameters) const;

 private:
  const Chain& chain_;
  std::shared_ptr<std::byte> memory_;
  const float* src_ = nullptr;
  std::vector<float*> tensors_;
  std::byte* saved_ = nullptr;
  std::byte* scratch_ = nullptr;
};

}  // namespace plait
