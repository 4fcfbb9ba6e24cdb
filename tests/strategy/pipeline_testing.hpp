// ScoredPlan-up networks with made-up costs for the tests of pipelines.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/rng.hpp"
#include "strategy/pipeline/freeze.hpp"
#include "strategy/strategy_testing.hpp"

namespace plait::strategy {

/// Seconds per sample and block; update as it is. Everything else takes no time.
class TableCost final : public cost::CostModel {
 public:
  explicit TableCost(std::vector<cost::BlockSeconds> blocks, double loss = 0)
      : blocks_(std::move(blocks)), loss_(loss) {}

  cost::BlockSeconds block(int block, std::int64_t samples) const override {
    const cost::BlockSeconds& one = blocks_.at(static_cast<std::size_t>(block));
    const auto n = static_cast<double>(samples);
    return {n * one.forward, n * one.backward_data, n * one.backward_weights, one.update};
  }
  double loss(std::int64_t samples) const override { return static_cast<double>(samples) * loss_; }
  double load(std::int64_t) const override { return 0; }
  double sum(std::int64_t, int) const override { return 0; }
  double contention(int) const override { return 1; }
  std::string source() const override { return "table"; }

 private:
  std::vector<cost::BlockSeconds> blocks_;
  double loss_;
};

struct MadeUp {
  plan::Network network{};
  std::vector<cost::BlockSeconds> seconds{};
  double loss = 0;
  TableCost cost() const { return TableCost(seconds, loss); }
};

inline plan::Network chain_with(const std::vector<std::int64_t>& parameters) {
  plan::Network network{.name = "chain", .blocks = {}, .tensors = {4}, .input = {4}};
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const int b = static_cast<int>(i);
    network.blocks.push_back(
        {.name = fmt::format("b{}", i), .srcs = {b}, .dst = b + 1, .parameters = parameters[i]});
    network.tensors.push_back(4);
  }
  plan::complete(network);
  return network;
}

/// Equal blocks with parameters, `forward` seconds a sample for each of the three tasks.
inline MadeUp even_network(int blocks, double forward = 1) {
  const auto n = static_cast<std::size_t>(blocks);
  return {.network = chain_with(std::vector<std::int64_t>(n, 16)),
          .seconds = std::vector<cost::BlockSeconds>(n, {forward, forward, forward, 0})};
}

/// Every third block or so has no parameters; costs differ up to twentyfold.
inline MadeUp random_network(Rng& rng, int blocks, bool first_has_parameters) {
  MadeUp made;
  std::vector<std::int64_t> parameters;
  for (int b = 0; b < blocks; ++b) {
    const bool has = b == 0 ? first_has_parameters : rng.below(3) != 0;
    parameters.push_back(has ? 1 + rng.below(200) : 0);
    cost::BlockSeconds one{.forward = rng.uniform(0.1F, 2), .backward_data = rng.uniform(0.1F, 2)};
    if (has) {
      one.backward_weights = rng.uniform(0.1F, 2);
      one.update = rng.below(2) * rng.uniform(0, 0.2F);
    } else if (b == 0) {
      one.backward_data = 0;
    }
    made.seconds.push_back(one);
  }
  if (parameters.back() == 0 && !first_has_parameters) {  // somebody has to learn
    parameters.back() = 5;
    made.seconds.back().backward_weights = 1;
  }
  for (std::size_t b = 0; b < parameters.size() && parameters[b] == 0; ++b) {
    made.seconds[b].backward_data = 0;  // nobody waits for it
  }
  made.network = chain_with(parameters);
  for (std::size_t b = 0; b < made.network.blocks.size(); ++b) {
    made.network.tensors[b + 1] = 1 + rng.below(50);
    made.network.blocks[b].inner_elements = rng.below(2) * rng.below(30);
    made.network.blocks[b].state = parameters[b] > 0 ? 2 * rng.below(2) : 0;
  }
  plan::complete(made.network);
  made.loss = rng.below(2) * 0.05;
  return made;
}

inline plan::Machine one_node(int workers, const plan::Link& link = {}) {
  return {.nodes = 1, .workers_per_node = workers, .inside = link};
}

/// Seconds of a minibatch on one worker, in microbatches.
inline double total_seconds(const cost::CostModel& cost, const plan::Network& network,
                            std::int64_t batch) {
  double total = cost.loss(batch);
  for (int b = 0; b < network.size(); ++b) {
    const cost::BlockSeconds one = cost.block(b, batch);
    total += one.forward + one.backward_data + one.backward_weights + one.update;
  }
  return total;
}

/// Compute seconds of the busiest worker of a plan.
inline double busiest_worker(const plan::Plan& plan, const cost::CostModel& cost) {
  double most = 0;
  for (const plan::Program& program : plan.programs) {
    double sum = 0;
    for (const plan::Task& task : program.tasks) sum += cost::task_seconds(cost, plan, task, 1);
    most = std::max(most, sum);
  }
  return most;
}

}  // namespace plait::strategy
