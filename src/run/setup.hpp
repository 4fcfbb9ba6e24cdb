// From a config to what a run computes with: data splits, a model that fits them, a chain.
#pragma once

#include "data/open.hpp"
#include "run/chain.hpp"
#include "run/config.hpp"

namespace plait {

struct Setup {
  Splits data;
  ModelSpec model;
};

/// Opens the data and makes the model for it; UserError where the two do not fit each other or the
/// loss.
Setup make_setup(const TrainConfig& config);

/// Of the run's batch, never more than the training samples.
std::unique_ptr<Chain> make_chain(const TrainConfig& config, const Setup& setup);

}  // namespace plait
