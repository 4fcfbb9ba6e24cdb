// From a config to what a run computes with: data splits and a model that fits them.
#pragma once

#include "data/open.hpp"
#include "graph/spec.hpp"
#include "run/class_weights.hpp"
#include "session/config.hpp"

namespace plait::session {

struct Setup {
  data::Splits data;
  graph::ModelSpec model;
  run::ClassWeights weights{};  ///< filled by train() only
};

/// Opens the data and makes the model for it; UserError where the two do not fit each other or the
/// loss.
Setup make_setup(const TrainConfig& config);
/// The same in a moment, where shapes and numbers of samples are enough: nothing is measured,
/// images of files are decoded when they are read.
Setup make_outline(const TrainConfig& config);

/// How the data is opened for this config.
data::DataOptions data_options(const TrainConfig& config);

/// That read samples which take long.
int data_threads(const TrainConfig& config);

}  // namespace plait::session
