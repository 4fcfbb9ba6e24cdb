// Chooses buffers by last reader, and runs the needed blocks.
#include "run/workspace.hpp"

#include <algorithm>
#include <utility>

#include "base/rounding.hpp"

namespace plait::run {

namespace {

/// The blocks that the logits depend on, and those that measure how far tensors are apart.
std::vector<bool> needed_blocks(const plan::Network& network) {
  std::vector<bool> blocks(network.blocks.size(), false);
  std::vector<bool> tensors(network.tensors.size(), false);
  tensors[static_cast<std::size_t>(network.logits())] = true;
  for (std::size_t i = blocks.size(); i-- > 0;) {
    const plan::NetworkBlock& block = network.blocks[i];
    blocks[i] = tensors[static_cast<std::size_t>(block.dst)] || block.is_difference();
    if (!blocks[i]) continue;
    for (const int tensor : block.srcs) tensors[static_cast<std::size_t>(tensor)] = true;
  }
  return blocks;
}

/// Per tensor the last needed block that reads it.
std::vector<std::size_t> last_readers(const plan::Network& network,
                                      const std::vector<bool>& needed) {
  std::vector<std::size_t> last(network.tensors.size(), 0);
  for (std::size_t i = 0; i < network.blocks.size(); ++i) {
    if (!needed[i]) continue;
    for (const int tensor : network.blocks[i].srcs) last[static_cast<std::size_t>(tensor)] = i;
  }
  last[static_cast<std::size_t>(network.logits())] = network.blocks.size();
  return last;
}

/// Per tensor the number of its buffer; `count` are enough.
struct Buffers {
  std::vector<int> of;
  int count = 0;
};

Buffers assign_buffers(const plan::Network& network, const std::vector<bool>& needed) {
  const std::vector<std::size_t> last = last_readers(network, needed);
  Buffers buffers{.of = std::vector<int>(network.tensors.size(), -1)};
  std::vector<int> free;
  for (std::size_t i = 0; i < network.blocks.size(); ++i) {
    if (!needed[i]) continue;
    const plan::NetworkBlock& block = network.blocks[i];
    int& dst = buffers.of[static_cast<std::size_t>(block.dst)];
    if (dst < 0) {
      if (free.empty()) free.push_back(buffers.count++);
      dst = free.back();
      free.pop_back();
    }
    for (const int tensor : block.srcs) {
      const int buffer = buffers.of[static_cast<std::size_t>(tensor)];
      const bool done = buffer >= 0 && last[static_cast<std::size_t>(tensor)] == i;
      if (done && std::ranges::find(free, buffer) == free.end()) free.push_back(buffer);
    }
  }
  return buffers;
}

}  // namespace

Workspace::Workspace(Chain& chain)
    : chain_(chain),
      bridge_(chain, chain),
      needed_(needed_blocks(chain.network())),
      tensors_(chain.network().tensors.size(), nullptr),
      residuals_(chain.size()) {
  const plan::Network& network = chain.network();
  std::size_t tensor = 0;
  std::size_t saved = 0;
  std::size_t scratch = 0;
  for (std::size_t i = 0; i < chain.size(); ++i) {
    const kernels::Block& block = chain.block(i);
    tensor = std::max(tensor, cache_lines(block.dst_desc().bytes()));
    saved = std::max(saved, cache_lines(block.saved_bytes()));
    scratch = std::max(scratch, cache_lines(block.scratch_bytes()));
  }
  const Buffers buffers = assign_buffers(network, needed_);
  const std::size_t all = static_cast<std::size_t>(buffers.count) * tensor;
  memory_ = tensor::allocate_bytes(all + saved + scratch);
  tensor::clear_new({memory_.get(), all + saved + scratch});
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    if (buffers.of[i] < 0) continue;
    tensors_[i] =
        reinterpret_cast<float*>(memory_.get() + static_cast<std::size_t>(buffers.of[i]) * tensor);
  }
  saved_ = memory_.get() + all;
  scratch_ = saved_ + saved;
  saved_and_scratch_ = saved + scratch;
}

void Workspace::forward(const plan::NetworkBlock& block, std::size_t index,
                        ParameterStore& parameters) {
  kernels::BlockArgs args;
  const auto view = [&](int tensor, float* data) {
    return tensor::View(data, chain_.tensor_desc(tensor));
  };
  for (const int src : block.srcs) {
    args.srcs.push_back(src == 0 ? images_ : view(src, tensor(src)));
  }
  args.dst = view(block.dst, tensor(block.dst));
  args.weights = parameters.owner(index).weights.floats().data();
  args.state = parameters.state(index);
  if (!bridge_.same(index)) {
    bridge_.fetch(index, args.weights, args.state);
    args.weights = bridge_.memory(index).weights.floats().data();
    args.state = bridge_.memory(index).state.floats().data();
  }
  args.saved = saved_;
  args.scratch = scratch_;
  args.training = false;
  if (poisons_) {
    tensor::poison({saved_, saved_and_scratch_});
    if (!block.reads(block.dst)) {
      tensor::poison(
          {static_cast<std::byte*>(args.dst.data()), chain_.block(index).dst_desc().bytes()});
    }
  }
  chain_.block(index).forward(args);
  if (!block.is_difference()) return;
  const tensor::TensorDesc& desc = chain_.tensor_desc(block.dst);
  add_residual({.difference = args.dst.floats(),
                .other = args.srcs[1].floats(),
                .count = static_cast<std::size_t>(desc.physical_elements()),
                .threads = chain_.options().threads},
               residuals_[index]);
}

std::span<const float> Workspace::forward(ParameterStore& parameters, tensor::ConstView images) {
  images_ = images;
  const plan::Network& network = chain_.network();
  for (std::size_t i = 0; i < chain_.size(); ++i) {
    if (needed_[i]) forward(network.blocks[i], i, parameters);
  }
  return {tensor(network.logits()),
          static_cast<std::size_t>(chain_.dst_desc().physical_elements())};
}

std::vector<ResidualSums> Workspace::take_residuals() {
  return std::exchange(residuals_, std::vector<ResidualSums>(residuals_.size()));
}

}  // namespace plait::run
