// Finds blocks whose layouts differ by packing numbers both ways, and converts those.
#include "run/layout_bridge.hpp"

#include <algorithm>
#include <numeric>

#include "layers/gradient_gaps.hpp"

namespace plait::run {

namespace {

/// One parameter from the arrays of one block to those of its twin.
void convert(const layers::Block& from, const layers::Block& to, std::size_t index,
             std::pair<const float*, float*> arrays) {
  const layers::BlockParameter& source = from.parameters()[index];
  const layers::BlockParameter& target = to.parameters()[index];
  tensor::Tensor plain(source.spec.shape);
  from.unpack_parameter(source, arrays.first + source.offset, plain.floats().data());
  to.pack_parameter(target, plain.floats().data(), arrays.second + target.offset);
}

}  // namespace

LayoutBridge::LayoutBridge(const Chain& home, const Chain& other)
    : home_(home), other_(other), blocks_(home.size()) {
  for (std::size_t i = 0; i < home.size(); ++i) {
    if (home.network().blocks[i].repeats >= 0 || equal_layouts(i)) continue;
    const layers::Block& block = other.block(i);
    blocks_[i].weights = tensor::Tensor(tensor::Shape{block.weights_size()});
    blocks_[i].gradient = tensor::Tensor(tensor::Shape{block.weights_size()});
    blocks_[i].state = tensor::Tensor(tensor::Shape{block.state_size()});
  }
}

/// Packs the numbers 0, 1, 2, ... both ways and looks where they went.
bool LayoutBridge::equal_layouts(std::size_t block) const {
  const layers::Block& a = home_.block(block);
  const layers::Block& b = other_.block(block);
  if (a.weights_size() != b.weights_size() || a.state_size() != b.state_size()) return false;
  if (!a.layout_follows_batch()) return true;
  for (std::size_t i = 0; i < a.parameters().size(); ++i) {
    const layers::BlockParameter& left = a.parameters()[i];
    const layers::BlockParameter& right = b.parameters()[i];
    if (left.offset != right.offset || left.physical_size != right.physical_size) return false;
    tensor::Tensor plain(left.spec.shape);
    std::iota(plain.floats().begin(), plain.floats().end(), 0.0F);
    const auto size = static_cast<std::size_t>(left.physical_size);
    std::vector<float> packed_left(size);
    std::vector<float> packed_right(size);
    a.pack_parameter(left, plain.floats().data(), packed_left.data());
    b.pack_parameter(right, plain.floats().data(), packed_right.data());
    if (packed_left != packed_right) return false;
  }
  return true;
}

void LayoutBridge::fetch(std::size_t block, const float* weights, const float* state) {
  const layers::Block& from = home_.block(block);
  const layers::Block& to = other_.block(block);
  BlockMemory& memory = blocks_[block];
  for (std::size_t i = 0; i < from.parameters().size(); ++i) {
    const bool trainable = from.parameters()[i].spec.trainable;
    convert(from, to, i,
            {trainable ? weights : state,
             trainable ? memory.weights.floats().data() : memory.state.floats().data()});
  }
}

void LayoutBridge::return_state(std::size_t block, float* state) const {
  const layers::Block& from = other_.block(block);
  for (std::size_t i = 0; i < from.parameters().size(); ++i) {
    if (from.parameters()[i].spec.trainable) continue;
    convert(from, home_.block(block), i, {blocks_[block].state.floats().data(), state});
  }
}

void LayoutBridge::return_gradient(std::size_t block, std::span<float> gradient) const {
  const layers::Block& from = other_.block(block);
  for (std::size_t i = 0; i < from.parameters().size(); ++i) {
    if (!from.parameters()[i].spec.trainable) continue;
    convert(from, home_.block(block), i,
            {blocks_[block].gradient.floats().data(), gradient.data()});
  }
  layers::clear_gaps(home_.block(block), gradient.data());
}

}  // namespace plait::run
