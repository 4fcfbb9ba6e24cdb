// Finds blocks whose layouts differ by packing numbers both ways, and converts those.
#include "run/layout_bridge.hpp"

#include <algorithm>
#include <numeric>

#include "kernels/gradient_gaps.hpp"

namespace plait::run {

namespace {

/// One parameter of a block.
struct Place {
  const kernels::Block* block;
  const kernels::BlockParameter* parameter;

  void pack(const float* plain, float* physical) const {
    block->pack_parameter(*parameter, plain, physical);
  }
};

/// The trainable ones, or the others.
std::vector<Place> places_of(const kernels::Block& block, bool trainable) {
  std::vector<Place> places;
  for (const kernels::BlockParameter& one : block.parameters()) {
    if (one.spec.trainable == trainable) places.push_back({&block, &one});
  }
  return places;
}

/// Packs the numbers 0, 1, 2, ... both ways and looks where they went.
bool lie_alike(const Place& a, const Place& b) {
  if (a.parameter->offset != b.parameter->offset ||
      a.parameter->physical_size != b.parameter->physical_size) {
    return false;
  }
  tensor::Tensor plain(a.parameter->spec.shape);
  std::iota(plain.floats().begin(), plain.floats().end(), 0.0F);
  const auto size = static_cast<std::size_t>(a.parameter->physical_size);
  std::vector<float> packed_a(size);
  std::vector<float> packed_b(size);
  a.pack(plain.floats().data(), packed_a.data());
  b.pack(plain.floats().data(), packed_b.data());
  return packed_a == packed_b;
}

/// All parameters of one kind from the array of one block to that of another.
void convert(const kernels::Block& from, const kernels::Block& to, bool trainable,
             std::pair<const float*, float*> arrays) {
  const std::vector<Place> sources = places_of(from, trainable);
  const std::vector<Place> targets = places_of(to, trainable);
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const kernels::BlockParameter& source = *sources[i].parameter;
    tensor::Tensor plain(source.spec.shape);
    from.unpack_parameter(source, arrays.first + source.offset, plain.floats().data());
    targets[i].pack(plain.floats().data(), arrays.second + targets[i].parameter->offset);
  }
}

}  // namespace

LayoutBridge::LayoutBridge(const Chain& home, const Chain& other)
    : home_(home), other_(other), blocks_(home.size()) {
  for (std::size_t i = 0; i < home.size(); ++i) {
    if (home.network().repeats(static_cast<int>(i)) || equal_layouts(i)) continue;
    const kernels::Block& block = other.block(i);
    blocks_[i].weights = tensor::Tensor(tensor::Shape{block.weights_size()});
    blocks_[i].gradient = tensor::Tensor(tensor::Shape{block.weights_size()});
    blocks_[i].state = tensor::Tensor(tensor::Shape{block.state_size()});
  }
}

bool LayoutBridge::all_same() const {
  return std::ranges::all_of(blocks_, [](const BlockMemory& one) { return one.weights.empty(); });
}

const kernels::Block& LayoutBridge::stored(std::size_t block, bool trainable) const {
  const plan::Network& network = home_.network();
  const auto index = static_cast<int>(block);
  return home_.block(
      static_cast<std::size_t>(trainable ? network.owner_of(index) : network.home_of(index)));
}

bool LayoutBridge::equal_layouts(std::size_t block) const {
  const kernels::Block& other = other_.block(block);
  for (const bool trainable : {true, false}) {
    const kernels::Block& here = stored(block, trainable);
    if (&here == &other) continue;
    const bool same_size = trainable ? here.weights_size() == other.weights_size()
                                     : here.state_size() == other.state_size();
    if (!same_size) return false;
    const bool same_layers = &here == &home_.block(block);
    if (same_layers && !here.layout_follows_batch()) continue;
    if (!std::ranges::equal(places_of(here, trainable), places_of(other, trainable), lie_alike)) {
      return false;
    }
  }
  return true;
}

void LayoutBridge::fetch(std::size_t block, const float* weights, const float* state) {
  const kernels::Block& to = other_.block(block);
  BlockMemory& memory = blocks_[block];
  convert(stored(block, true), to, true, {weights, memory.weights.floats().data()});
  convert(stored(block, false), to, false, {state, memory.state.floats().data()});
}

void LayoutBridge::return_state(std::size_t block, float* state) const {
  convert(other_.block(block), stored(block, false), false,
          {blocks_[block].state.floats().data(), state});
}

void LayoutBridge::return_gradient(std::size_t block, std::span<float> gradient) const {
  const kernels::Block& to = stored(block, true);
  convert(other_.block(block), to, true,
          {blocks_[block].gradient.floats().data(), gradient.data()});
  kernels::clear_gaps(to, gradient.data());
}

}  // namespace plait::run
