// plait eval: test loss and accuracy of saved weights.
#include "session/eval.hpp"

#include <cstdio>

#include "base/text.hpp"
#include "cli/json.hpp"
#include "cli/out_place.hpp"
#include "cli/saved_weights.hpp"
#include "cli/thread_warning.hpp"
#include "cli/verbs.hpp"
#include "cli/weights_file.hpp"
#include "session/memory_check.hpp"

namespace plait::cli {

namespace {

void write_outputs(const std::string& file, std::vector<float>& values, std::int64_t samples) {
  const tensor::Shape shape{samples, std::ssize(values) / samples};
  const std::vector<checkpoint::NamedTensor> tensors{
      {"outputs", tensor::Tensor(tensor::TensorDesc{shape}, values.data())}};
  checkpoint::write_safetensors(file, tensors);
}

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
  std::vector<float> outputs;
  session::EvaluationHooks hooks{.network_of = torn_by_names(config.sweeps)};
  const std::string* out = arguments.find("--outputs");
  if (out != nullptr) {
    check_file_place(*out, "--outputs", ".safetensors");
    hooks.outputs = [&](std::span<const float> some) {
      outputs.insert(outputs.end(), some.begin(), some.end());
    };
  }
  const run::Evaluation evaluation =
      session::evaluate_weights(config, setup, tensors, weights.string(), hooks);
  check_loss(evaluation, tensors, weights.string());
  if (out != nullptr) write_outputs(*out, outputs, evaluation.samples);
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
  if (evaluation.top5) {
    rows.push_back({"test_top5", fmt::format("{:.2f}%", 100 * *evaluation.top5)});
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
  options.push_back({.name = "--outputs",
                     .value = "FILE",
                     .help = "what the network computes for each test sample, .safetensors"});
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
