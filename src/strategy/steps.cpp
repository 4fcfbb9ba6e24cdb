// Appends the tasks of a forward pass, of one block's backward pass, and of the updates.
#include "strategy/steps.hpp"

namespace plait::strategy {

plan::Plan empty_plan(const std::string& strategy, const PlanRequest& request) {
  plan::Plan plan;
  plan.strategy = strategy;
  plan.machine = request.machine;
  plan.network = request.network;
  plan.batch = request.batch;
  plan.microbatches = request.microbatches;
  plan.optimizer_states = request.optimizer_states;
  plan.wire_bytes = request.wire_bytes;
  plan.programs.resize(static_cast<std::size_t>(request.machine.workers()));
  return plan;
}

void append_forward(const plan::Network& network, const Microbatch& of,
                    std::vector<plan::Task>& tasks) {
  tasks.push_back({.what = plan::Load{of.samples}});
  for (int block = 0; block < network.size(); ++block) {
    tasks.push_back(
        {.what = plan::Forward{.block = block, .samples = of.samples, .moves_state = of.first}});
  }
  tasks.push_back({.what = plan::Loss{of.samples}});
}

void append_backward(const plan::Network& network, int block, const Microbatch& of,
                     std::vector<plan::Task>& tasks) {
  const plan::NetworkBlock& network_block = network.blocks[static_cast<std::size_t>(block)];
  if (network.has_backward(block)) {
    tasks.push_back({.what = plan::BackwardData{.block = block, .samples = of.samples}});
  }
  if (network_block.parameters > 0) {
    tasks.push_back(
        {.what = plan::BackwardWeights{.block = block, .samples = of.samples, .adds = !of.first}});
  }
}

void append_updates(const plan::Network& network, bool clip, std::vector<plan::Task>& tasks) {
  if (clip) tasks.push_back({.what = plan::Clip{}});
  for (int block = 0; block < network.size(); ++block) {
    if (network.blocks[static_cast<std::size_t>(block)].parameters == 0) continue;
    tasks.push_back({.what = plan::Update{block}});
  }
}

}  // namespace plait::strategy
