#include "run/workspace.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace plait {

namespace {

/// Counts first, then hands out: offsets now, pointers when the memory is there.
class Arena {
 public:
  std::size_t take(std::size_t bytes) {
    const std::size_t offset = end_;
    end_ += (bytes + 63) / 64 * 64;
    return offset;
  }
  std::size_t bytes() const { return end_; }

 private:
  std::size_t end_ = 0;
};

}  // namespace

Workspace::Workspace(const Chain& chain, bool for_training)
    : chain_(chain), for_training_(for_training) {
  const std::size_t count = chain.size();
  std::size_t transient = 0;
  std::size_t gradient = 0;
  std::size_t pending = 0;
  std::size_t scratch = 0;
  std::size_t saved = 0;
  std::vector<bool> kept(count, false);
  for (std::size_t i = 0; i < count; ++i) {
    const Block& block = chain.block(i);
    const bool last = i + 1 == count;
    kept[i] = last || (for_training &&
                       (block.backward_reads_dst() || chain.block(i + 1).backward_reads_src()));
    if (!kept[i]) transient = std::max(transient, block.dst_desc().bytes());
    gradient = std::max(gradient, block.dst_desc().bytes());
    pending = std::max(pending, block.pending_bytes());
    scratch = std::max(scratch, block.scratch_bytes());
    saved = std::max(saved, block.saved_bytes());
  }

  Arena arena;
  const std::array<std::size_t, 2> transients{arena.take(transient), arena.take(transient)};
  const std::size_t shared_saved = for_training ? 0 : arena.take(saved);
  std::vector<std::size_t> border_offsets(count);
  std::vector<std::size_t> saved_offsets(count);
  for (std::size_t i = 0; i < count; ++i) {
    const Block& block = chain.block(i);
    border_offsets[i] = kept[i] ? arena.take(block.dst_desc().bytes()) : transients[i % 2];
    saved_offsets[i] = for_training ? arena.take(block.saved_bytes()) : shared_saved;
  }
  std::array<std::size_t, 2> gradients{};
  std::size_t pending_offset = 0;
  if (for_training) {
    gradients = {arena.take(gradient), arena.take(gradient)};
    pending_offset = arena.take(pending);
  }
  const std::size_t scratch_offset = arena.take(scratch);

  bytes_ = arena.bytes();
  memory_ = allocate_bytes(bytes_);
  std::memset(memory_.get(), 0, bytes_);
  const auto at = [&](std::size_t offset) { return memory_.get() + offset; };
  borders_.push_back(nullptr);
  diff_borders_.push_back(nullptr);
  for (std::size_t i = 0; i < count; ++i) {
    borders_.push_back(reinterpret_cast<float*>(at(border_offsets[i])));
    saved_.push_back(at(saved_offsets[i]));
    diff_borders_.push_back(for_training ? reinterpret_cast<float*>(at(gradients[i % 2]))
                                         : nullptr);
  }
  pending_ = at(pending_offset);
  scratch_ = at(scratch_offset);
}

std::span<const float> Workspace::dst() const {
  return {borders_.back(), static_cast<std::size_t>(chain_.dst_desc().physical_elements())};
}

std::span<float> Workspace::diff_dst() {
  return {diff_borders_.back(), static_cast<std::size_t>(chain_.dst_desc().physical_elements())};
}

BlockArgs Workspace::args(std::size_t i, BlockMemory& parameters) const {
  return {.src = i == 0 ? src_ : borders_[i],
          .dst = borders_[i + 1],
          .diff_dst = diff_borders_[i + 1],
          .diff_src = diff_borders_[i],
          .weights = parameters.weights.floats().data(),
          .diff_weights = parameters.gradient.floats().data(),
          .state = parameters.state.floats().data(),
          .saved = saved_[i],
          .pending = pending_,
          .scratch = scratch_,
          .training = for_training_,
          .randomness = {}};
}

}  // namespace plait
