// From a training run's settings to its plan.
#pragma once

#include <memory>
#include <vector>

#include "cli/run_costs.hpp"
#include "session/train.hpp"
#include "strategy/strategy.hpp"

namespace plait {

/// UserError on a word that is not known.
PipelineRequest pipeline_of(const TrainConfig& config);
TearRequest tear_of(const TrainConfig& config);
ExchangeRequest exchange_of(const TrainConfig& config);
/// Whether the strategy, or the one inside its nodes, listens to a setting (Strategy::words).
bool listens(const TrainConfig& config, const std::string& word);
/// The strategy's plan for the config.
Plan plan_of(const TrainConfig& config, const ModelSpec& model, const Machine& machine,
             RunCosts& costs);
/// Which mode of the strategy's plan each epoch takes; null where there is one.
ModeOfEpoch modes_of(const TrainConfig& config);
/// The network to fit the coarse parts in: that of the plan, swept once.
std::function<Network(const ModelSpec&)> fitting(const TrainConfig& config, const Machine& machine,
                                                 RunCosts& costs);

/// Whether the strategy, or the one inside its nodes, splits the depth of the network, which adds
/// coarse parts with weights of their own.
bool tears(const TrainConfig& config);
/// Where the depth is split, workers and pieces follow from each other: workers first, where nobody
/// has named them.
void settle_workers(TrainConfig& config);
/// Then the pieces (and replicas), as numbers that a resumed run keeps whatever its workers.
void settle_pieces(TrainConfig& config, const Machine& machine, RunCosts& costs);
/// Where an outer optimizer's settings are left open: chosen, as numbers that a resumed run keeps.
/// Returns a line that says so; "" where nothing was chosen.
std::string settle_outer(TrainConfig& config);

}  // namespace plait
