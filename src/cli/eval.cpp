// plait eval: test loss and accuracy of saved weights.
#include "run/eval.hpp"

#include <cstdio>

#include "base/error.hpp"
#include "cli/json.hpp"
#include "cli/text.hpp"
#include "cli/verbs.hpp"

namespace plait {

namespace {

/// Flags on top of the run's config, or of the defaults where there is no run.
TrainConfig eval_config(const Arguments& arguments, const std::string& run_dir) {
  const std::string file =
      run_dir.empty() ? "" : (std::filesystem::path(run_dir) / "config.toml").string();
  std::error_code error;
  if (!run_dir.empty() && !std::filesystem::is_directory(run_dir, error)) {
    user_error("--run {}: there is no such folder", run_dir);
  }
  TrainConfig config = resolve_config(file, field_flags(arguments));
  config.resume = false;
  return config;
}

int run_eval(const Arguments& arguments) {
  const std::string run_dir = arguments.text("--run", "");
  const std::string init = arguments.text("--init", "");
  if (run_dir.empty() == init.empty()) {
    user_error("{}; write plait eval --run DIR, or plait eval --model M --data D --init FILE",
               run_dir.empty() ? "eval needs weights" : "--run and --init exclude each other");
  }
  if (run_dir.empty() && arguments.find("--model") == nullptr) {
    user_error("eval --init {} needs the network too; add --model NAME (and --data)", init);
  }
  const TrainConfig config = eval_config(arguments, run_dir);
  const std::filesystem::path weights =
      run_dir.empty() ? std::filesystem::path(init) : weights_of_run(run_dir);
  const Evaluation evaluation = evaluate_file(config, weights);
  if (arguments.on("--json")) {
    fmt::print("{}\n", to_json(EvalResult{.model = config.model,
                                          .data = config.data,
                                          .weights = weights.string(),
                                          .evaluation = evaluation}));
    return 0;
  }
  std::vector<Row> rows{
      {"model", config.model},
      {"data", fmt::format("{} ({} test samples)", config.data, with_commas(evaluation.samples))},
      {"weights", weights.string()},
      {"test_loss", fmt::format("{:.6f}", evaluation.loss)}};
  if (evaluation.accuracy) {
    rows.push_back({"test_accuracy", fmt::format("{:.4f}", *evaluation.accuracy)});
  }
  fmt::print("{}", table(rows, 2));
  return 0;
}

}  // namespace

Verb eval_verb() {
  std::vector<Option> options = field_options({"model", "data", "init", "seed", "batch", "threads",
                                               "loss", "normalise", "train_limit", "test_limit"});
  for (Option& option : options) {
    option.group = "Options";
    if (option.name == "--init") option.help = "the weights, a .safetensors file";
  }
  options.push_back({.name = "--run",
                     .value = "DIR",
                     .help = "settings and best checkpoint of a run folder, instead of --init"});
  options.push_back({.name = "--json", .value = "", .help = "one JSON object on stdout"});
  return {.name = "eval",
          .about = "Measure saved weights on the test data.",
          .examples = {"plait eval --run runs/001-lenet",
                       "plait eval --model lenet --data glyphs --init weights.safetensors --json"},
          .options = std::move(options),
          .run = run_eval};
}

}  // namespace plait
