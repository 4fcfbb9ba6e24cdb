// The flags that name weights, checked and resolved to a config and tensors.
#include "cli/saved_weights.hpp"

#include <cmath>

#include "base/error.hpp"
#include "cli/verbs.hpp"
#include "run/parameters.hpp"
#include "strategy/parareal/torn_weights.hpp"

namespace plait::cli {

namespace fs = std::filesystem;

std::vector<std::string_view> evaluation_keys() {
  return {"model",       "data",        "init",         "seed",       "batch",        "threads",
          "loss",        "normalise",   "ignore_label", "image_size", "image_resize", "grey",
          "skip_broken", "train_limit", "test_limit",   "sweeps"};
}

std::vector<Option> saved_weights_options(const std::vector<std::string_view>& keys) {
  std::vector<Option> options = field_options(keys);
  for (Option& option : options) {
    option.group = "Options";
    if (option.name == "--init") option.help = "the weights, a .safetensors or .onnx file";
  }
  options.push_back(
      {.name = "--run",
       .value = "DIR",
       .help = "take settings and best checkpoint of a run folder instead of --init"});
  return options;
}

SavedWeights saved_weights(const Arguments& arguments, const std::string& verb) {
  const std::string run_dir = arguments.text("--run", "");
  const std::string init = arguments.text("--init", "");
  if (run_dir.empty() == init.empty()) {
    user_error("{1}; write plait {0} --run DIR, or plait {0} --model M --data D --init FILE", verb,
               run_dir.empty() ? verb + " needs weights" : "--run and --init exclude each other");
  }
  if (run_dir.empty() && arguments.find("--model") == nullptr) {
    user_error("{} --init {} needs the network too; add --model NAME (and --data)", verb, init);
  }
  std::error_code error;
  if (!run_dir.empty() && !fs::is_directory(run_dir, error)) {
    user_error("--run {}: {}; plait train makes run folders below runs/", run_dir,
               fs::exists(run_dir, error) ? "that is a file" : "no such folder");
  }
  const std::string file = run_dir.empty() ? "" : (fs::path(run_dir) / "config.toml").string();
  SavedWeights saved{.file = {}, .config = resolve_config(file, field_flags(arguments))};
  saved.config.resume = false;
  if (!run_dir.empty()) {
    GivenConfig run;
    read_config_file(file, run);
    check_unchanged(run, file);
  }
  saved.file = run_dir.empty() ? fs::path(init) : session::weights_of_run(run_dir);
  return saved;
}

void check_loss(const run::Evaluation& evaluation,
                const std::vector<checkpoint::NamedTensor>& weights, const std::string& file) {
  const std::string wrong = run::non_finite_tensor(weights);
  if (!wrong.empty()) fail("{}: {}, so the network computes nothing", file, wrong);
  if (!std::isfinite(evaluation.loss)) {
    fail("{}: the test loss is not finite although all weights are; the activations overflow",
         file);
  }
}

session::NetworkOfWeights torn_by_names(std::int64_t sweeps) {
  return [sweeps](const plan::Network& model, const std::vector<std::string>& names) {
    return strategy::network_of_weights(model, names, sweeps);
  };
}

}  // namespace plait::cli
