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

Placement place(const std::vector<Stage>& stages, int blocks, int microbatches,
                const std::vector<int>& owners) {
  const auto worker_of = [&](Pass3 pass, int block, int k) {
    int first = 0;
    for (std::size_t s = 0; s < stages.size(); ++s) {
      if (is_before(stages[s].end, pass, block, k, microbatches)) {
        return owners.empty() ? first + k % stages[s].replicas : owners[s];
      }
      first += stages[s].replicas;
    }
    return 0;
  };
  Placement placement(blocks, microbatches);
  for (int block = 0; block < blocks; ++block) {
    for (int k = 0; k < microbatches; ++k) {
      for (const Pass3 pass : {Pass3::forward, Pass3::backward_data, Pass3::backward_weights}) {
        placement.set(pass, block, k, worker_of(pass, block, k));
      }
    }
  }
  return placement;
}

}  // namespace plait::strategy::pipeline
