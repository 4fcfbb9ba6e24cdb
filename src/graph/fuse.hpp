// Cuts the blocks of a model into the finest ones: one for what is computed together. These are
// what plans place and order; the model's own blocks remain names, and where networks are torn.
#pragma once

#include <string>
#include <vector>

#include "graph/spec.hpp"

namespace plait::graph {

/// A part of a block, or all of it.
struct FinePart {
  /// With the name of the block and of its nodes, so that parameters have the same names; `inputs`
  /// of the spec is empty, `reads` says it.
  BlockSpec spec;
  /// By input of the spec, each once: an earlier part, or block_input(...) of the block.
  std::vector<int> reads;
};

/// Of a block that reads so many tensors, in an order in which the parts can be computed; the last
/// one writes the block's result.
std::vector<FinePart> fuse(const BlockSpec& block, int inputs);

/// A part of a model's block, or all of it.
struct FineBlock {
  std::string name;        ///< "block.node", or the block's where it is all of it
  BlockSpec spec;          ///< as of FinePart
  std::vector<int> reads;  ///< earlier fine blocks or kModelInput, each once, by input of the spec
  int whole = 0;           ///< the model's block
};

/// In an order in which they can be computed; the last one writes the model's result.
std::vector<FineBlock> fuse(const ModelSpec& model);

}  // namespace plait::graph
