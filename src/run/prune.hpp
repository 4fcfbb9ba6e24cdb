// Pruning by magnitude: linear layers of a trained network become sparse ones that keep their
// largest weights.
#pragma once

#include <string>
#include <vector>

#include "checkpoint/safetensors.hpp"
#include "graph/spec.hpp"

namespace plait::run {

struct PruneOptions {
  double sparsity = 0.9;            ///< share of each layer's weights that goes, in [0, 1)
  std::vector<std::string> keep{};  ///< blocks that stay dense
};

/// What became of one layer.
struct PrunedLayer {
  std::string name;  ///< "fc1.linear"
  std::int64_t before = 0;
  std::int64_t after = 0;
};

struct PrunedModel {
  graph::ModelSpec model;
  std::vector<checkpoint::NamedTensor> weights;
  std::vector<PrunedLayer> layers;
};

/// Of a layer's n weights the floor(n sparsity) smallest go; of equal ones the later. Other layers
/// stay as they are. UserError where the model has no linear layer to prune, or where `keep` names
/// no block. `weights` must be those of the model (check_weights).
PrunedModel prune(const graph::ModelSpec& model,
                  const std::vector<checkpoint::NamedTensor>& weights, const PruneOptions& options);

}  // namespace plait::run
