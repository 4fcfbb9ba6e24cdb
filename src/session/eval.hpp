// Evaluation of saved weights, for `plait eval`.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "run/evaluate.hpp"
#include "session/config.hpp"
#include "session/setup.hpp"

namespace plait::session {

/// The network that weights with these names belong to.
using NetworkOfWeights =
    std::function<plan::Network(const plan::Network& model, const std::vector<std::string>& names)>;

struct EvaluationHooks {
  NetworkOfWeights network_of{};
  run::OutputSink outputs{};
};

/// The batch that weights are evaluated in: the config's, but not thousands more than the test part
/// has samples.
std::int64_t evaluation_batch(const TrainConfig& config, const Setup& setup);

/// `weights` of `source` (a file's name) in config's model, or in what hooks.network_of makes of
/// it, on the test part of config's data.
run::Evaluation evaluate_weights(const TrainConfig& config,
                                 const std::vector<checkpoint::NamedTensor>& weights,
                                 const std::string& source, const EvaluationHooks& hooks = {});

/// The same on what make_setup(config) gave.
run::Evaluation evaluate_weights(const TrainConfig& config, const Setup& setup,
                                 const std::vector<checkpoint::NamedTensor>& weights,
                                 const std::string& source, const EvaluationHooks& hooks = {});

/// weights.safetensors of a run folder's best checkpoint (the latest, where none has a metric).
std::filesystem::path weights_of_run(const std::filesystem::path& run_dir);

}  // namespace plait::session
