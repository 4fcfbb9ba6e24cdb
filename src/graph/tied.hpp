// Tied weights: layers that use the parameters of an earlier one (Node::weights).
#pragma once

#include <string>
#include <vector>

#include "graph/spec.hpp"

namespace plait::graph {

/// A layer, or with node -1 all layers of a block, to use the weights of what `name` says:
/// "block.layer", or a block.
struct Tie {
  int block = -1;
  int node = -1;
  std::string name{};
  std::string where{};  ///< opens messages: "file:line: "
};

/// Sets Node::weights. The model passes check_model. A name of a layer that is tied itself stands
/// for the one that owns the weights. UserError where there is no such earlier layer, where the
/// parameters differ, or where a block and its layer name different ones.
void tie_weights(ModelSpec& model, const std::vector<Tie>& ties);

/// UserError that opens with `where` unless all Node::weights name earlier layers with weights of
/// their own and equal parameters. Names and shapes of the model have been checked.
void check_tied(const ModelSpec& model, const std::string& where);

}  // namespace plait::graph
