// The layer calls of a block before anything is known of their sizes.
#include "graph/counted_steps.hpp"

#include "graph/fused_steps.hpp"

namespace plait::graph {

std::vector<CountedStep> counted_steps(const BlockSpec& block, int inputs) {
  std::vector<CountedStep> steps;
  for (const FusedStep& step : fused_steps(block, inputs)) {
    steps.push_back({.spec = block.nodes[static_cast<std::size_t>(step.node)].layer,
                     .srcs = step.srcs,
                     .dst = step.dst,
                     .residual = step.residual});
  }
  return steps;
}

}  // namespace plait::graph
