// Appends the tasks of a forward pass, of one block's backward pass, and of the updates.
#include "strategy/steps.hpp"

namespace plait {

Plan empty_plan(const std::string& strategy, const PlanRequest& request) {
  Plan plan;
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

void append_forward(const Network& network, const Task& like, std::vector<Task>& tasks) {
  tasks.push_back({.kind = TaskKind::load, .samples = like.samples});
  Task task = like;
  task.kind = TaskKind::forward;
  for (task.block = 0; task.block < network.size(); ++task.block) tasks.push_back(task);
  tasks.push_back({.kind = TaskKind::loss, .samples = like.samples});
}

void append_backward(const Network& network, int block, const Task& like,
                     std::vector<Task>& tasks) {
  const NetworkBlock& of = network.blocks[static_cast<std::size_t>(block)];
  Task task = like;
  task.block = block;
  if (of.src != 0 || of.parameters > 0) {
    task.kind = TaskKind::backward_data;
    tasks.push_back(task);
  }
  if (of.parameters > 0) {
    task.kind = TaskKind::backward_weights;
    tasks.push_back(task);
  }
}

void append_updates(const Network& network, bool clip, std::vector<Task>& tasks) {
  if (clip) tasks.push_back({.kind = TaskKind::clip});
  for (int block = 0; block < network.size(); ++block) {
    if (network.blocks[static_cast<std::size_t>(block)].parameters == 0) continue;
    tasks.push_back({.kind = TaskKind::update, .block = block});
  }
}

}  // namespace plait
