#include "cli/config_plan.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "cli/row_partitioner.hpp"
#include "run/setup.hpp"

namespace plait {

PipelineRequest pipeline_of(const TrainConfig& config) {
  PipelineRequest request =
      pipeline_request(config.pipeline, config.weights, config.in_flight, config.replicas != 1);
  request.max_staleness = staleness_limit(config.max_staleness);
  return request;
}

TearRequest tear_of(const TrainConfig& config) {
  return tear_request(config.pieces, config.replicas, config.sweeps, config.coarse,
                      config.residual_wire);
}

ExchangeRequest exchange_of(const TrainConfig& config) {
  return exchange_request({.every = static_cast<int>(config.exchange_every),
                           .wait = static_cast<int>(config.exchange_wait),
                           .most = static_cast<int>(config.exchange_most),
                           .local_steps = static_cast<int>(config.local_steps),
                           .outer_rate = config.outer_lr,
                           .outer_momentum = config.outer_momentum,
                           .inner = config.inner},
                          config.merge, config.exchange_wire);
}

ModeOfEpoch modes_of(const TrainConfig& config) {
  const auto mode = find_strategy(config.strategy).mode;
  if (!mode) return nullptr;
  return [mode, config](std::int64_t epochs, const std::vector<double>& losses) {
    return mode({.epochs = epochs,
                 .warmup = config.warmup_epochs,
                 .cooldown = config.cooldown_epochs,
                 .exchange = exchange_of(config)},
                losses);
  };
}

Plan plan_of(const TrainConfig& config, const ModelSpec& model, const Machine& machine,
             RunCosts& costs) {
  const Network network = make_network(model);
  Machine planned = machine;  // the same links as plait plan, so that both make the same plan
  planned.inside = kUsualInside;
  if (config.link_between_nodes.empty()) planned.between = kUsualBetween;
  Plan plan = costs.of(network).plan([&](const CostModel& cost) {
    return make_plan(config.strategy,
                     {.network = network,
                      .machine = planned,
                      .cost = &cost,
                      .batch = config.batch,
                      .microbatches = static_cast<int>(config.microbatches),
                      .optimizer_states = make_optimizer(optimizer_spec(config))->state_count(),
                      .clip = config.clip_norm > 0,
                      .wire_bytes = config.wire == "bf16" ? 2 : 4,
                      .bucket_bytes = static_cast<std::int64_t>(config.bucket_mb * (1 << 20)),
                      .pipeline = pipeline_of(config),
                      .tear = tear_of(config),
                      .exchange = exchange_of(config),
                      .partition = row_partitioner(config.partition, config.seed)});
  });
  plan.machine = machine;
  return plan;
}

bool listens(const TrainConfig& config, const std::string& word) {
  const std::vector<std::string> names = listeners(word);
  const auto among = [&](const std::string& name) {
    return std::ranges::find(names, name) != names.end();
  };
  return among(config.strategy) ||
         (word != "inner" && listens(config, "inner") && among(config.inner));
}

std::function<Network(const ModelSpec&)> fitting(const TrainConfig& config, const Machine& machine,
                                                 RunCosts& costs) {
  return [config, machine, &costs](const ModelSpec& model) {
    TrainConfig once = config;
    once.sweeps = 1;
    return plan_of(once, model, machine, costs).network;
  };
}

bool tears(const TrainConfig& config) { return listens(config, "pieces"); }

namespace {

/// Workers that share one torn network: all, or those of a node where every node has one.
int workers_together(const TrainConfig& config, const Machine& machine) {
  return listens(config, "inner") ? machine.workers_per_node : machine.workers();
}

/// One piece per worker, as a number that a resumed run keeps whatever its workers.
std::string pieces_text(const TrainConfig& config, const Machine& machine) {
  if (!tears(config)) return config.pieces;
  const std::int64_t replicas = std::max<std::int64_t>(1, config.replicas);
  const std::int64_t together = workers_together(config, machine);
  return std::to_string(std::max({std::int64_t{2}, together / replicas, config.sweeps}));
}

/// How many of the first `workers` update the first block that anybody updates.
std::int64_t holders(const Plan& plan, int workers) {
  const std::vector<int> owner = owners(plan);
  const auto first = std::ranges::find_if(owner, [](int worker) { return worker >= 0; });
  const auto block = static_cast<int>(first - owner.begin());
  const auto updates = [&](const Program& program) {
    return std::ranges::any_of(program.tasks, [&](const Task& task) {
      return is<Update>(task) && block_of(task) == block;
    });
  };
  return std::count_if(plan.programs.begin(), plan.programs.begin() + workers, updates);
}

/// What the planner finds best, as numbers that a resumed run keeps.
void choose_pieces(TrainConfig& config, const Machine& machine, RunCosts& costs) {
  const Plan plan = plan_of(config, make_setup(config).model, machine, costs);
  int pieces = 0;
  for (const NetworkBlock& block : plan.network.blocks) pieces = std::max(pieces, block.piece + 1);
  config.pieces = std::to_string(pieces);
  config.replicas = holders(plan, workers_together(config, machine));
}

}  // namespace

void settle_workers(TrainConfig& config) {
  if (!tears(config)) return;
  const TearRequest tear = tear_of(config);
  if (config.workers == 0 && config.nodes == 1 && config.workers_per_node == 0 && tear.pieces > 0) {
    config.workers = std::int64_t{tear.pieces} * std::max(1, tear.replicas);
  }
}

std::string settle_outer(TrainConfig& config) {
  const bool open = config.outer_lr == kChosenRate || config.outer_momentum == kChosenMomentum;
  if (!open || !listens(config, "outer_lr")) return "";
  std::int64_t steps = config.steps;
  if (steps == 0) {
    const std::int64_t samples = make_setup(config).data.train->size();
    const std::int64_t whole = samples / config.batch;
    const bool tail = samples % config.batch != 0 && !config.drop_last;
    steps = std::max<std::int64_t>(1, config.epochs * (whole + (tail ? 1 : 0)));
  }
  ExchangeRequest request = exchange_of(config);
  request.total_steps = steps;
  const OuterSettings chosen = outer_settings(request);
  config.outer_lr = chosen.rate;
  config.outer_momentum = chosen.momentum;
  return fmt::format(
      "{}: --outer-lr {} --outer-momentum {}, for {} local step(s) and {} exchange(s) in the run",
      config.strategy, chosen.rate, chosen.momentum, config.local_steps,
      steps / config.local_steps);
}

void settle_pieces(TrainConfig& config, const Machine& machine, RunCosts& costs) {
  if (config.pieces == "0") config.pieces = pieces_text(config, machine);
  if (config.pieces == "auto" && tears(config)) choose_pieces(config, machine, costs);
}

}  // namespace plait
