// The bound for each stage, and the edges that make a play keep to it.
#include "strategy/pipeline/staleness_bound.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace plait::strategy::pipeline {

namespace {

/// Minibatches that `microbatches` more in flight make the weights older.
int in_minibatches(int microbatches, int each) { return (microbatches + each - 1) / each; }

bool makes_weights(const plan::Task& task) {
  const plan::Message* message = plan::message_of(task);  // of weights or a gradient
  return plan::is<plan::Update>(task) ||
         (message != nullptr && message->value.role == plan::Role::weights);
}

}  // namespace

int staleness_bound(const PlanRequest& request) {
  if (request.pipeline.max_staleness != kPipeDreamStaleness) return request.pipeline.max_staleness;
  return in_minibatches(request.machine.workers() - 1, request.microbatches);
}

std::vector<int> staleness_by_stage(const PlanRequest& request, const std::vector<Stage>& stages) {
  const int most = staleness_bound(request);
  std::vector<int> bound(request.network.blocks.size(), most);
  int behind = request.machine.workers();  // workers of this stage and of those behind it
  for (const Stage& stage : stages) {
    const int here = std::min(most, in_minibatches(behind - 1, request.microbatches));
    const int first = stage.begin.block + (stage.begin.at_border() ? 0 : 1);
    const int last = stage.end.block + (stage.end.at_border() ? 0 : 1);
    for (int b = first; b < last; ++b) bound[static_cast<std::size_t>(b)] = here;
    behind -= stage.replicas;
  }
  return bound;
}

void hold_staleness(lower::Graph& graph, const std::vector<int>& bound) {
  const plan::Network& network = graph.schedule.plan.network;
  std::map<std::pair<int, int>, int> maker;  // block, worker -> job
  for (int j = 0; j < graph.size(); ++j) {
    const Job& job = graph.item(j);
    if (makes_weights(job.task)) maker[{plan::block_of(job.task), job.worker}] = j;
  }
  for (Job& job : graph.schedule.items) {
    if (!plan::delay_of(job.task)) continue;  // reads no weights
    const auto block = static_cast<std::size_t>(plan::block_of(job.task));
    if (network.blocks[block].parameters == 0) continue;
    const auto made = maker.find({network.owner_of(static_cast<int>(block)), job.worker});
    if (made == maker.end()) continue;
    job.after.push_back({.item = made->second, .earlier = 1 + bound[block]});
  }
}

}  // namespace plait::strategy::pipeline
