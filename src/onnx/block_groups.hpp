// Layers of an imported network grouped to blocks, with names.
#pragma once

#include "onnx/layers.hpp"

namespace plait::onnx {

/// A block to be: its layers in order. Only the first reads other blocks, only the last is read by
/// them.
struct BlockGroup {
  std::string name;
  std::vector<std::size_t> layers;
  std::vector<std::string> names;  ///< of each layer in the block; "" for the block's own
};

/// A convolution, linear layer, pool or join begins a block; normalisation, activation, dropout and
/// flatten follow in it where nothing else reads what is between. "block.layer" is the module path
/// of every layer with parameters that has one; where no block's name allows that for two of them,
/// they are blocks of their own.
std::vector<BlockGroup> block_groups(const ImportedNetwork& network);

}  // namespace plait::onnx
