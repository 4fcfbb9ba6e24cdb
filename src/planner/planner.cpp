// Settings as requests of the strategies, and what is chosen where settings are left open.
#include "planner/planner.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace plait::planner {

plan::Plan plan_with(const PlanSettings& settings, const Planning& planning) {
  check_plan_settings(settings);
  return strategy::make_plan(
      settings.strategy, {.network = planning.network,
                          .machine = planning.machine,
                          .cost = planning.cost,
                          .batch = settings.batch,
                          .microbatches = static_cast<int>(settings.microbatches),
                          .optimizer_states = planning.optimizer_states,
                          .clip = planning.clip,
                          .wire_bytes = settings.wire == "bf16" ? 2 : 4,
                          .bucket_bytes = static_cast<std::int64_t>(settings.bucket_mb * (1 << 20)),
                          .pipeline = strategy::pipeline_request(settings),
                          .tear = strategy::tear_request(settings),
                          .exchange = strategy::exchange_request(settings),
                          .partition = planning.partition});
}

plan::Machine with_usual_links(const plan::Machine& machine, bool between_given) {
  plan::Machine planned = machine;
  planned.inside = plan::kUsualInside;
  if (!between_given) planned.between = plan::kUsualBetween;
  return planned;
}

std::vector<std::string> users_of(const std::string& key) {
  const auto rows = plan_settings();
  const auto row = std::ranges::find(rows, key, &Setting<PlanSettings>::key);
  return row == rows.end() ? std::vector<std::string>{} : names_in(row->used_by);
}

bool uses(const PlanSettings& settings, const std::string& key) {
  const std::vector<std::string> names = users_of(key);
  const auto among = [&](const std::string& name) {
    return std::ranges::find(names, name) != names.end();
  };
  return among(settings.strategy) ||
         (key != "inner" && uses(settings, "inner") && among(settings.inner));
}

void check_used_settings(const PlanSettings& settings) {
  check_used(
      settings, plan_settings(), "strategy", settings.strategy,
      [&](const Setting<PlanSettings>& row) { return uses(settings, std::string(row.key)); });
  const PlanSettings usual;
  if (!uses(settings, "cuts") || settings.pipeline == "async") return;
  if (settings.max_staleness != usual.max_staleness) {
    setting_error("max_staleness", settings.max_staleness,
                  "bounds weights that are read late: add `pipeline` async");
  }
  if (settings.weights != usual.weights) {
    setting_error("weights", settings.weights,
                  "is for asynchronous pipelines: add `pipeline` async");
  }
}

bool splits_depth(const PlanSettings& settings) { return uses(settings, "pieces"); }

ModeOfEpoch modes_of(const PlanSettings& settings) {
  const auto mode = strategy::find_strategy(settings.strategy).mode;
  if (!mode) return nullptr;
  return [mode, settings](std::int64_t epochs, const std::vector<double>& losses) {
    return mode(strategy::exchange_request(settings), {.epochs = epochs, .losses = losses});
  };
}

namespace {

/// Workers that share one split network: all, or those of a node where every node has one.
int workers_together(const PlanSettings& settings, const plan::Machine& machine) {
  return uses(settings, "inner") ? machine.workers_per_node : machine.workers();
}

/// How many of the first `workers` update the first block that anybody updates.
std::int64_t holders(const plan::Plan& plan, int workers) {
  const std::vector<int> owner = plan::owners(plan);
  const auto first = std::ranges::find_if(owner, [](int worker) { return worker >= 0; });
  const auto block = static_cast<int>(first - owner.begin());
  const auto updates = [&](const plan::Program& program) {
    return std::ranges::any_of(program.tasks, [&](const plan::Task& task) {
      return plan::is<plan::Update>(task) && plan::block_of(task) == block;
    });
  };
  return std::count_if(plan.programs.begin(), plan.programs.begin() + workers, updates);
}

}  // namespace

void settle_pieces(PlanSettings& settings, const plan::Machine& machine,
                   const std::function<plan::Plan(const PlanSettings&)>& make) {
  if (!splits_depth(settings)) return;
  const int together = workers_together(settings, machine);
  if (settings.pieces == "0") {
    const std::int64_t replicas = std::max<std::int64_t>(1, settings.replicas);
    settings.pieces =
        std::to_string(std::max({std::int64_t{2}, together / replicas, settings.sweeps}));
  } else if (settings.pieces == "auto") {
    const plan::Plan plan = make(settings);
    int pieces = 0;
    for (const plan::NetworkBlock& block : plan.network.blocks) {
      pieces = std::max(pieces, block.piece + 1);
    }
    settings.pieces = std::to_string(pieces);
    settings.replicas = holders(plan, together);
  }
}

bool leaves_outer_open(const PlanSettings& settings) {
  return uses(settings, "outer_lr") && (settings.outer_lr == strategy::kChosenRate ||
                                        settings.outer_momentum == strategy::kChosenMomentum);
}

std::string settle_outer(PlanSettings& settings, std::int64_t steps) {
  if (!leaves_outer_open(settings)) return "";
  strategy::ExchangeRequest request = strategy::exchange_request(settings);
  request.total_steps = steps;
  const strategy::OuterSettings chosen = strategy::outer_settings(request);
  settings.outer_lr = chosen.rate;
  settings.outer_momentum = chosen.momentum;
  return fmt::format(
      "{}: `outer_lr` {} `outer_momentum` {}, for {} local step(s) and {} exchange(s) in the run",
      settings.strategy, chosen.rate, chosen.momentum, settings.local_steps,
      steps / settings.local_steps);
}

}  // namespace plait::planner
