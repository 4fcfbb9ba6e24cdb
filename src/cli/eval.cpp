// plait eval: test loss and accuracy of saved weights.
#include "session/eval.hpp"

#include <cstdio>

#include "base/text.hpp"
#include "cli/json.hpp"
#include "cli/saved_weights.hpp"
#include "cli/thread_warning.hpp"
#include "cli/verbs.hpp"
#include "cli/weights_file.hpp"
#include "session/memory_check.hpp"

namespace plait::cli {

namespace {

int run_eval(const Arguments& arguments) {
  const auto [weights, config] = saved_weights(arguments, "eval");
  session::check_config(config);
  warn_of_threads(1, static_cast<int>(config.threads));
  const session::Setup setup = session::make_setup(config);
  session::check_evaluation_memory(plan::make_network(setup.model),
                                   session::evaluation_batch(config, setup),
                                   session::threads_per_worker(config));
  const std::vector<checkpoint::NamedTensor> tensors =
      read_weights_aloud(weights.string(), setup.model);
  const run::Evaluation evaluation = session::evaluate_weights(
      config, setup, tensors, weights.string(), torn_by_names(config.sweeps));
  check_loss(evaluation, tensors, weights.string());
  if (arguments.on("--json")) {
    fmt::print("{}\n", json_text(to_json({.model = config.model,
                                          .data = config.data,
                                          .weights = weights.string(),
                                          .evaluation = evaluation})));
    return 0;
  }
  std::vector<Row> rows{
      {"model", config.model},
      {"data", fmt::format("{} ({} test samples)", config.data, with_commas(evaluation.samples))},
      {"weights", weights.string()},
      {"test_loss", fmt::format("{:.6f}", evaluation.loss)}};
  if (evaluation.accuracy) {
    rows.push_back({"test_accuracy", fmt::format("{:.2f}%", 100 * *evaluation.accuracy)});
  }
  if (evaluation.miou) {
    rows.push_back({"test_miou", fmt::format("{:.2f}%", 100 * *evaluation.miou)});
  }
  for (const run::Residual& one : evaluation.residuals) {
    rows.push_back({one.name, fmt::format("{:.6g}", one.value)});
  }
  fmt::print("{}", table(rows, 2, kLineColumns));
  return 0;
}

}  // namespace

Verb eval_verb() {
  std::vector<Option> options = saved_weights_options(evaluation_keys());
  options.push_back({.name = "--json", .value = "", .help = "one JSON object on stdout"});
  return {.name = "eval",
          .about = "Measure saved weights on the test data.",
          .examples = {"plait eval --run runs/001-lenet",
                       "plait eval --model lenet --data glyphs --init weights.safetensors --json",
                       "plait eval --model resnet20 --data cifar10:DIR --init resnet20.onnx"},
          .options = std::move(options),
          .run = run_eval};
}

}  // namespace plait::cli
