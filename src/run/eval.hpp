// Evaluation of saved weights, for `plait eval`.
#pragma once

#include <filesystem>
#include <string>

#include "run/config.hpp"
#include "run/evaluate.hpp"

namespace plait {

/// Weights of `file` (.safetensors) in config's model on the test part of config's data.
Evaluation evaluate_file(const TrainConfig& config, const std::filesystem::path& file);

/// weights.safetensors of a run folder's best checkpoint (the latest, where none has a metric).
std::filesystem::path weights_of_run(const std::filesystem::path& run_dir);

}  // namespace plait
