// Compares cuts with tasks to find the worker of each.
#include "strategy/pipeline/placement.hpp"

namespace plait::strategy::pipeline {

namespace {

/// Whether the task lies before the cut.
bool is_before(const Cut& cut, Pass3 pass, int block, int microbatch, int microbatches) {
  if (block != cut.block) return block < cut.block;
  if (cut.at_border()) return false;
  switch (pass) {
    case Pass3::forward: return true;
    case Pass3::backward_data: return is_left(microbatch, cut.part - 1, microbatches);
    case Pass3::backward_weights: return false;
  }
  return false;
}

}  // namespace

Placement place(const std::vector<Stage>& stages, int blocks, int microbatches) {
  Placement placement(blocks, microbatches);
  for (int block = 0; block < blocks; ++block) {
    for (int k = 0; k < microbatches; ++k) {
      for (const Pass3 pass : {Pass3::forward, Pass3::backward_data, Pass3::backward_weights}) {
        int first = 0;
        for (const Stage& stage : stages) {
          if (is_before(stage.end, pass, block, k, microbatches)) {
            placement.set(pass, block, k, first + k % stage.replicas);
            break;
          }
          first += stage.replicas;
        }
      }
    }
  }
  return placement;
}

}  // namespace plait::strategy::pipeline
