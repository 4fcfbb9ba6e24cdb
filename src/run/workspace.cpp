#include "run/workspace.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace plait {

namespace {

std::size_t rounded(std::size_t bytes) { return (bytes + 63) / 64 * 64; }

}  // namespace

Workspace::Workspace(const Chain& chain) : chain_(chain) {
  std::size_t tensor = 0;
  std::size_t saved = 0;
  std::size_t scratch = 0;
  for (std::size_t i = 0; i < chain.size(); ++i) {
    const Block& block = chain.block(i);
    tensor = std::max(tensor, rounded(block.dst_desc().bytes()));
    saved = std::max(saved, rounded(block.saved_bytes()));
    scratch = std::max(scratch, rounded(block.scratch_bytes()));
  }
  const std::size_t bytes = 2 * tensor + saved + scratch;
  memory_ = allocate_bytes(bytes);
  std::memset(memory_.get(), 0, bytes);
  const std::array<float*, 2> buffers{reinterpret_cast<float*>(memory_.get()),
                                      reinterpret_cast<float*>(memory_.get() + tensor)};
  for (std::size_t i = 0; i < chain.size(); ++i) tensors_.push_back(buffers[i % 2]);
  saved_ = memory_.get() + 2 * tensor;
  scratch_ = saved_ + saved;
}

std::span<const float> Workspace::logits() const {
  return {tensors_.back(), static_cast<std::size_t>(chain_.dst_desc().physical_elements())};
}

BlockArgs Workspace::args(std::size_t i, BlockMemory& parameters) const {
  BlockArgs args;
  args.src = i == 0 ? src_ : tensors_[i - 1];
  args.dst = tensors_[i];
  args.weights = parameters.weights.floats().data();
  args.state = parameters.state.floats().data();
  args.saved = saved_;
  args.scratch = scratch_;
  args.training = false;
  return args;
}

}  // namespace plait
