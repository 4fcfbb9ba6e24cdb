// Makes the inner plan for one node, and refuses those whose weights cannot be exchanged.
#include "strategy/replicas/inside_node.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "lower/exchanges.hpp"
#include "strategy/replicas/options.hpp"

namespace plait::strategy {

namespace {

/// The same request for one node, with its share of the samples.
PlanRequest in_one_node(const PlanRequest& request, const plan::Machine& node) {
  return {.network = request.network,
          .machine = node,
          .cost = request.cost,
          .batch = std::max<std::int64_t>(1, request.batch / request.machine.nodes),
          .microbatches = request.microbatches,
          .optimizer_states = request.optimizer_states,
          .clip = request.clip,
          .wire_bytes = request.wire_bytes,
          .bucket_bytes = request.bucket_bytes,
          .pipeline = request.pipeline,
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

/// Holders of the same weights and statistics meet between nodes.
void check_together(const plan::Plan& plan, const std::string& name) {
  const lower::Holders holders = lower::holders(plan);
  for (std::size_t block = 0; block < plan.network.blocks.size(); ++block) {
    const plan::NetworkBlock& of = plan.network.blocks[block];
    if (!of.owns_weights() || of.parameters == 0 || of.state == 0) continue;
    if (holders.updaters[block] == holders.state_movers[block]) continue;
    setting_error("strategy", name,
                  "`inner` {}: {} has its weights and its running statistics on different "
                  "workers of a node; use another `inner`, or another `workers_per_node`",
                  plan.strategy, of.name);
  }
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
  bool tied = false;
  for (int b = 0; b < plan.network.size(); ++b) tied = tied || plan.network.is_tied(b);
  for (const plan::Program& program : plan.programs) {
    const auto moved = std::ranges::find_if(program.tasks, moves_weights);
    if (moved == program.tasks.end()) continue;
    setting_error(
        "strategy", name,
        "`inner` {}: workers of a node would send each other the weights of {}, "
        "which exchanges between nodes change; use `inner` {}, or another `workers_per_node`",
        inner, plan.network.blocks[static_cast<std::size_t>(plan::block_of(*moved))].name,
        tied ? "data_parallel" : "zb-h1");
  }
  check_together(plan, name);
  return plan;
}

}  // namespace plait::strategy
