// Makes the inner plan for one node, and finds the workers of it that hold the same weights.
#include "strategy/replicas/inside_node.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "strategy/replicas/options.hpp"

namespace plait::strategy {

namespace {

/// The same request for one node, with its share of the samples. Replicas of a piece would keep
/// running statistics on one of them only: every piece has one worker.
PlanRequest in_one_node(const PlanRequest& request, const plan::Machine& node) {
  PipelineRequest pipeline = request.pipeline;
  pipeline.replicate = false;
  return {.network = request.network,
          .machine = node,
          .cost = request.cost,
          .batch = std::max<std::int64_t>(1, request.batch / request.machine.nodes),
          .microbatches = request.microbatches,
          .optimizer_states = request.optimizer_states,
          .clip = request.clip,
          .wire_bytes = request.wire_bytes,
          .bucket_bytes = request.bucket_bytes,
          .pipeline = pipeline,
          .tear = request.tear,
          .partition = request.partition};
}

/// The workers of a plan for one node are those that workers_per_node names.
std::string of_one_node(std::string message) {
  const std::string key = "`workers` ";
  for (std::size_t at = message.find(key); at != std::string::npos;
       at = message.find(key, at + key.size())) {
    message.replace(at, key.size(), "`workers_per_node` ");
  }
  return message;
}

bool moves_weights(const plan::Task& task) {
  const plan::Message* message = plan::message_of(task);
  return message != nullptr && message->value.role == plan::Role::weights;
}

}  // namespace

plan::Plan inner_plan(const std::string& name, const PlanRequest& request) {
  const std::string& inner = request.exchange.inner;
  const auto rows = replica_settings();
  const std::vector<std::string> outer =
      names_in(std::ranges::find(rows, "inner", &Setting<ReplicaOptions>::key)->used_by);
  if (std::ranges::find(outer, inner) != outer.end()) {
    setting_error("inner", inner,
                  "exchanges weights between nodes and cannot run inside one; use `inner` "
                  "data_parallel");
  }
  plan::Machine node = request.machine;
  node.nodes = 1;
  plan::Plan plan = [&] {
    check_strategy(inner, "inner");
    try {
      return make_plan(inner, in_one_node(request, node));
    } catch (const UserError& error) {
      setting_error("inner", inner, "inside a node: {}", of_one_node(error.what()));
    }
  }();
  const std::vector<int> late = plan::staleness(plan);
  if (plan.depth() > 0 || std::ranges::any_of(late, [](int steps) { return steps > 0; })) {
    setting_error(
        "strategy", name,
        "`inner` {}: inside a node stale weights are read, and updates from other "
        "nodes would be lost; use `inner` 1f1b or zb-h1, or layerpipe with `pipeline` sync",
        inner);
  }
  for (const plan::Program& program : plan.programs) {
    const auto moved = std::ranges::find_if(program.tasks, moves_weights);
    if (moved == program.tasks.end()) continue;
    setting_error(
        "strategy", name,
        "`inner` {}: workers of a node would send each other the weights of {}, "
        "which "
        "exchanges between nodes change; use `inner` zb-h1, or another `workers_per_node`",
        inner, plan.network.blocks[static_cast<std::size_t>(plan::block_of(*moved))].name);
  }
  return plan;
}

std::vector<plan::Task> with_early_updates(const plan::Network& network,
                                           std::vector<plan::Task> tasks) {
  const auto comes_first = [](const plan::Task& task) {
    return plan::is<plan::Reduce>(task) || plan::is<plan::Clip>(task);
  };
  if (std::ranges::any_of(tasks, comes_first)) return tasks;
  std::vector<int> last(network.blocks.size(), -1);
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    if (!plan::is<plan::BackwardData>(tasks[i]) && !plan::is<plan::BackwardWeights>(tasks[i]))
      continue;
    last[static_cast<std::size_t>(network.home_of(plan::block_of(tasks[i])))] = static_cast<int>(i);
  }
  std::vector<std::vector<plan::Task>> behind(tasks.size());
  for (const plan::Task& task : tasks) {
    const auto* update = std::get_if<plan::Update>(&task.what);
    if (update == nullptr) continue;
    const int position = last[static_cast<std::size_t>(update->block)];
    behind[static_cast<std::size_t>(position)].push_back(task);
  }
  std::vector<plan::Task> early;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    if (!plan::is<plan::Update>(tasks[i])) early.push_back(tasks[i]);
    early.insert(early.end(), behind[i].begin(), behind[i].end());
  }
  return early;
}

namespace {

bool updates(const plan::Program& program, int block) {
  return std::ranges::find(program.tasks, plan::What(plan::Update{block}), &plan::Task::what) !=
         program.tasks.end();
}

bool moves_state(const plan::Program& program, int block) {
  return std::ranges::any_of(program.tasks, [&](const plan::Task& task) {
    const auto* forward = std::get_if<plan::Forward>(&task.what);
    return forward != nullptr && forward->block == block && forward->moves_state;
  });
}

}  // namespace

std::vector<Held> held_together(const plan::Plan& inner, const std::string& name) {
  std::vector<Held> all;
  for (int block = 0; block < inner.network.size(); ++block) {
    const plan::NetworkBlock& of = inner.network.blocks[static_cast<std::size_t>(block)];
    if (of.repeats >= 0 || (of.parameters == 0 && of.state == 0)) continue;
    std::vector<int> places;
    for (int place = 0; place < inner.workers(); ++place) {
      const plan::Program& program = inner.programs[static_cast<std::size_t>(place)];
      const bool learns = updates(program, block);
      const bool moves = of.state > 0 && moves_state(program, block);
      if (of.parameters > 0 && of.state > 0 && learns != moves) {
        setting_error("strategy", name,
                      "`inner` {}: {} has its weights and its running statistics on different "
                      "workers of a node; use another `inner`, or another `workers_per_node`",
                      inner.strategy, of.name);
      }
      if (learns || moves) places.push_back(place);
    }
    if (places.empty()) continue;  // nobody computes it: parareal's C_j that later sweeps replace
    const auto found = std::ranges::find(all, places, &Held::places);
    if (found == all.end()) {
      all.push_back({places, {block}});
    } else {
      found->blocks.push_back(block);
    }
  }
  return all;
}

}  // namespace plait::strategy
