// A training run's plan: its settings with the costs of its network, through the planner.
#pragma once

#include <functional>
#include <string>

#include "cli/run_costs.hpp"
#include "session/train.hpp"

namespace plait {

/// The strategy's plan for the config.
Plan plan_of(const TrainConfig& config, const ModelSpec& model, const Machine& machine,
             RunCosts& costs);
/// The network to fit the coarse parts in: that of the plan, swept once.
std::function<Network(const ModelSpec&)> fitting(const TrainConfig& config, const Machine& machine,
                                                 RunCosts& costs);

/// Where the depth is split, workers and pieces follow from each other: workers first, where nobody
/// has named them.
void settle_workers(TrainConfig& config);
/// The strategy auto as the name of the one that is chosen; returns why, in one line.
std::string settle_strategy(TrainConfig& config, const Machine& machine, RunCosts& costs);
/// Then the pieces (and replicas), as numbers that a resumed run keeps whatever its workers.
void settle_pieces(TrainConfig& config, const Machine& machine, RunCosts& costs);
/// Where an outer optimizer's settings are left open: chosen, as numbers that a resumed run keeps.
/// Returns a line that says so; "" where nothing was chosen.
std::string settle_outer(TrainConfig& config);

}  // namespace plait
