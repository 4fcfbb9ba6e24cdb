// The weights a verb is told to read: --run DIR, or --model M --data D --init FILE.
#pragma once

#include <filesystem>
#include <string>

#include "cli/verb.hpp"
#include "session/eval.hpp"

namespace plait::cli {

struct SavedWeights {
  std::filesystem::path file;
  session::TrainConfig config;  ///< of the run, or the defaults; flags on top
};

/// The options of such a verb: the fields with these keys, and --run.
std::vector<Option> saved_weights_options(const std::vector<std::string_view>& keys);
/// Keys of what evaluating weights needs beside model, data and init.
std::vector<std::string_view> evaluation_keys();

/// UserError where neither or both are named, where --init comes without a model, and where there
/// is no such run. `verb` opens the messages.
SavedWeights saved_weights(const Arguments& arguments, const std::string& verb);

/// Failure where weights or loss are not finite; names the tensor of `file`.
void check_loss(const run::Evaluation& evaluation,
                const std::vector<checkpoint::NamedTensor>& weights, const std::string& file);

/// For evaluate_weights: a network that was torn is recognised by the names of its weights.
session::NetworkOfWeights torn_by_names(std::int64_t sweeps);

}  // namespace plait::cli
