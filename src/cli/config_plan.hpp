// From a training run's settings to its plan.
#pragma once

#include <memory>
#include <vector>

#include "cost/cost_model.hpp"
#include "run/train.hpp"
#include "strategy/strategy.hpp"

namespace plait {

/// UserError on a word that is not known.
TearRequest tear_of(const TrainConfig& config);
ExchangeRequest exchange_of(const TrainConfig& config);
/// Whether the strategy, or the one inside its nodes, listens to a setting (Strategy::words).
bool listens(const TrainConfig& config, const std::string& word);
/// Counted, or of the config's profile.
std::unique_ptr<CostModel> cost_of(const TrainConfig& config, const Network& network);
/// The strategy's plan for the config.
Plan plan_of(const TrainConfig& config, const ModelSpec& model, const Machine& machine);
/// Which mode of the strategy's plan each epoch takes; null where there is one.
ModeOfEpoch modes_of(const TrainConfig& config);
/// The network to fit the coarse parts in: that of the plan, swept once.
std::function<Network(const ModelSpec&)> fitting(const TrainConfig& config, const Machine& machine);

/// Where the depth is torn, workers and pieces follow from each other: workers first, where nobody
/// has named them.
void settle_workers(TrainConfig& config);
/// Then the pieces (and replicas), as numbers that a resumed run keeps whatever its workers.
void settle_pieces(TrainConfig& config, const Machine& machine);

}  // namespace plait
