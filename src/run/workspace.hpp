// Workspace: the activations and gradients of one minibatch on its way through a chain, in memory
// laid out once. Tensors that backward does not read share two buffers.
#pragma once

#include <span>

#include "run/chain.hpp"
#include "run/parameters.hpp"

namespace plait {

class Workspace {
 public:
  /// `for_training` false: no memory for backward; every tensor lives only until the next block.
  Workspace(const Chain& chain, bool for_training);

  /// The images, as the first block wants them; set before forward of block 0.
  void set_src(const float* images) { src_ = images; }
  /// Of the last block: logits out, their gradient in.
  std::span<const float> dst() const;
  std::span<float> diff_dst();
  /// The memory of block i's tasks. backward goes from the last block to the first: the gradients
  /// of neighbours share buffers.
  BlockArgs args(std::size_t i, BlockMemory& parameters) const;
  const float* block_dst(std::size_t i) const { return borders_[i + 1]; }
  std::size_t bytes() const { return bytes_; }

 private:
  const Chain& chain_;
  bool for_training_;
  std::size_t bytes_ = 0;
  std::shared_ptr<std::byte> memory_;
  const float* src_ = nullptr;
  std::vector<float*> borders_;  ///< [i + 1]: dst of block i
  std::vector<std::byte*> saved_;
  std::vector<float*> diff_borders_;  ///< [i + 1]: gradient of borders_[i + 1]
  std::byte* pending_ = nullptr;
  std::byte* scratch_ = nullptr;
};

}  // namespace plait
