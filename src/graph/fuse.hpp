// Cuts the blocks of a model into the finest ones: one for what is computed together. These are
// what plans place and order; the model's own blocks remain names, and where networks are torn.
#pragma once

#include <string>
#include <vector>

#include "graph/spec.hpp"

namespace plait::graph {

/// A part of a model's block, or all of it.
struct FineBlock {
  std::string name;
  /// With the name of the model's block and its nodes, so that parameters have the same names;
  /// `inputs` of the spec is empty, `reads` says it.
  BlockSpec spec;
  std::vector<int> reads;  ///< earlier fine blocks or kModelInput, each once, by input of the spec
  int whole = 0;           ///< the model's block
};

/// In an order in which they can be computed; the last one writes the model's result.
std::vector<FineBlock> fuse(const ModelSpec& model);

}  // namespace plait::graph
