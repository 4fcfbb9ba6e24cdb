// Chooses what a config leaves open, in the order in which one choice follows from another.
#include "session/settle.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "planner/choice.hpp"
#include "planner/cost_settings.hpp"
#include "run/cores.hpp"
#include "session/node_layout.hpp"
#include "session/plan_file.hpp"
#include "session/setup.hpp"
#include "session/train.hpp"

namespace plait::session {

namespace {

/// Where the depth is split, workers and pieces follow from each other: workers first, where nobody
/// has named them.
void settle_workers(TrainConfig& config) {
  if (!planner::splits_depth(config)) return;
  const strategy::TearRequest tear = strategy::tear_request(config);
  if (config.workers == 0 && config.nodes == 1 && config.workers_per_node == 0 && tear.pieces > 0) {
    config.workers = std::int64_t{tear.pieces} * std::max(1, tear.replicas);
  }
}

plan::Machine settle_machine(TrainConfig& config, transport::MpiWorld* mpi) {
  if (mpi == nullptr) {
    settle_workers(config);
    const plan::Machine asked = machine_of(config);
    config.workers = asked.workers();
    config.workers_per_node = asked.workers_per_node;
    // Bits are promised for equal threads: a resumed run takes the number of the first one.
    config.threads = threads_on_one_machine(config);
    return machine_of(config);
  }
  if (config.workers == 0) config.workers = mpi->size();
  const auto group = mpi->control_group();
  const plan::Machine machine = machine_of(config, *group);
  if (machine.nodes == 1 && planner::uses(config, "inner")) {
    if (const std::string uneven = uneven_nodes(*group); !uneven.empty()) {
      setting_error("strategy", config.strategy, "exchanges weights between nodes: {}", uneven);
    }
  }
  return machine;
}

/// The strategy auto becomes the one that is chosen; returns why, in one line.
std::string settle_strategy(TrainConfig& config, const plan::Machine& machine, RunCosts& costs) {
  const graph::ModelSpec model = make_outline(config).model;
  Costs& known = costs.of(plan::make_network(model));
  const planner::StrategyChoice choice =
      planner::choose_strategy(config, known.model(), [&](const planner::PlanSettings& settings) {
        TrainConfig one = config;
        one.strategy = settings.strategy;
        return plan_of(one, model, machine, costs);
      });
  config.strategy = choice.strategy;
  return fmt::format("strategy auto: {} (costs: {})", choice.why, known.text());
}

/// Steps of the run, where an outer optimizer's settings follow from them. Returns a line that says
/// what was chosen; "" where nothing was.
std::string settle_outer_optimizer(TrainConfig& config) {
  if (!planner::leaves_outer_open(config)) return "";
  std::int64_t steps = config.steps;
  if (steps == 0) {
    const std::int64_t samples = make_outline(config).data.train->size();
    const std::int64_t whole = samples / config.batch;
    const bool tail = samples % config.batch != 0 && !config.drop_last;
    steps = std::max<std::int64_t>(1, config.epochs * (whole + (tail ? 1 : 0)));
  }
  return planner::settle_outer(config, steps);
}

}  // namespace

SettledRun settle(TrainConfig config, const SettleOptions& options) {
  std::optional<planner::PlanDocument> given = take_given_plan(config);
  planner::check_used_settings(config);
  const plan::Machine machine = settle_machine(config, options.mpi);
  planner::check_cost_settings(config);
  const RunCostsOptions cost_options{
      .workers = machine.workers(),
      .threads = config.threads > 0 ? static_cast<int>(config.threads)
                                    : std::max(1, run::usable_cores() / machine.workers_per_node),
      .progress = options.progress};
  RunCosts costs(config, cost_options);
  if (config.cost == "again") config.cost = "measured";  // a resumed run keeps them
  // Under MPI worker 0 measures when all have agreed to begin, which is later.
  TrainConfig counted = config;
  if (planner::measures_costs(config)) counted.cost = "analytic";
  RunCosts counted_costs(counted, cost_options);
  RunCosts& known = options.mpi == nullptr ? costs : counted_costs;
  std::vector<std::string> notes;
  if (config.strategy == planner::kAutoStrategy)
    notes.push_back(settle_strategy(config, machine, known));
  if (!given) {
    planner::settle_pieces(config, machine, [&](const planner::PlanSettings&) {
      return plan_of(config, make_outline(config).model, machine, known);
    });
    if (std::string line = settle_outer_optimizer(config); !line.empty()) notes.push_back(line);
  }
  config.lr_scale = fmt::format("{}", lr_scale(config));  // a resumed run keeps it
  auto planner = std::make_shared<RunPlanner>(
      config, std::move(costs),
      RunPlannerOptions{.mpi = options.mpi, .given = std::move(given), .make = {}});
  return {.config = std::move(config), .planner = std::move(planner), .notes = std::move(notes)};
}

}  // namespace plait::session
