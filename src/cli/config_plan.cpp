// Settings as a PlanRequest, and the choice of the numbers that are left open (workers, pieces,
// outer optimizer).
#include "cli/config_plan.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "cli/row_partitioner.hpp"
#include "planner/choice.hpp"
#include "session/setup.hpp"

namespace plait {

Plan plan_of(const TrainConfig& config, const ModelSpec& model, const Machine& machine,
             RunCosts& costs) {
  const Network network = make_network(model);
  const Machine planned = with_usual_links(machine, !config.link_between_nodes.empty());
  return costs.of(network).plan([&](const CostModel& cost) {
    return plan_with(config, {.network = network,
                              .machine = planned,
                              .cost = &cost,
                              .optimizer_states = optimizer_states(config),
                              .clip = config.clip_norm > 0,
                              .partition = row_partitioner(config.partition, config.seed)});
  });
}

std::function<Network(const ModelSpec&)> fitting(const TrainConfig& config, const Machine& machine,
                                                 RunCosts& costs) {
  return [config, machine, &costs](const ModelSpec& model) {
    TrainConfig once = config;
    once.sweeps = 1;
    return plan_of(once, model, machine, costs).network;
  };
}

void settle_workers(TrainConfig& config) {
  if (!splits_depth(config)) return;
  const TearRequest tear = tear_request(config, config.replicas);
  if (config.workers == 0 && config.nodes == 1 && config.workers_per_node == 0 && tear.pieces > 0) {
    config.workers = std::int64_t{tear.pieces} * std::max(1, tear.replicas);
  }
}

std::string settle_strategy(TrainConfig& config, const Machine& machine, RunCosts& costs) {
  const ModelSpec model = make_setup(config).model;
  Costs& known = costs.of(make_network(model));
  const StrategyChoice choice =
      choose_strategy(config, known.model(), [&](const PlanSettings& settings) {
        TrainConfig one = config;
        one.strategy = settings.strategy;
        return plan_of(one, model, machine, costs);
      });
  config.strategy = choice.strategy;
  return fmt::format("{} (costs: {})", choice.why, known.text());
}

void settle_pieces(TrainConfig& config, const Machine& machine, RunCosts& costs) {
  settle_pieces(config, machine, [&](const PlanSettings&) {
    return plan_of(config, make_setup(config).model, machine, costs);
  });
}

std::string settle_outer(TrainConfig& config) {
  if (!leaves_outer_open(config)) return "";
  std::int64_t steps = config.steps;
  if (steps == 0) {
    const std::int64_t samples = make_setup(config).data.train->size();
    const std::int64_t whole = samples / config.batch;
    const bool tail = samples % config.batch != 0 && !config.drop_last;
    steps = std::max<std::int64_t>(1, config.epochs * (whole + (tail ? 1 : 0)));
  }
  return settle_outer(config, steps);
}

}  // namespace plait
