// plait export: saved weights as a file for others; of a torn network also as the serial one.
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>

#include "base/error.hpp"
#include "cli/saved_weights.hpp"
#include "cli/text.hpp"
#include "cli/verbs.hpp"
#include "run/setup.hpp"
#include "strategy/parareal/torn_weights.hpp"

namespace plait {

namespace {

void check_out(const std::string& out) {
  if (out.empty()) user_error("export writes a file; add --out FILE.safetensors");
  if (!out.ends_with(".safetensors")) {
    user_error("--out {}: the name must end in .safetensors, the only kind there is", out);
  }
  check_place(out, "--out");
}

/// Without the blocks that tearing has added.
std::vector<NamedTensor> serial_part(const TrainConfig& config,
                                     const std::vector<NamedTensor>& weights) {
  std::vector<std::string> names;
  for (const NamedTensor& tensor : weights) names.push_back(tensor.name);
  const Network torn = network_of_weights(make_network(make_setup(config).model), names, 1);
  std::vector<NamedTensor> kept;
  for (const NamedTensor& tensor : weights) {
    const bool added = std::ranges::any_of(torn.blocks, [&](const NetworkBlock& block) {
      return block.added && tensor.name.starts_with(block.name + ".");
    });
    if (!added) kept.push_back(tensor);
  }
  return kept;
}

std::string accuracy_text(const Evaluation& evaluation) {
  return evaluation.accuracy ? fmt::format("{:.4f}", *evaluation.accuracy) : "none";
}

int run_export(const Arguments& arguments) {
  const std::string out = arguments.text("--out", "");
  check_out(out);
  const auto [file, config] = saved_weights(arguments, "export");
  const std::vector<NamedTensor> weights = read_safetensors(file).tensors;
  const bool serial = arguments.on("--serial");
  const std::vector<NamedTensor> kept = serial ? serial_part(config, weights) : weights;
  // Before it is written: weights of another model are refused here.
  const Evaluation before =
      evaluate_weights(config, weights, file.string(), torn_by_names(config.sweeps));
  const Evaluation after = serial && kept.size() < weights.size()
                               ? evaluate_weights(config, kept, file.string())
                               : before;
  write_safetensors(out, kept);
  if (arguments.on("--json")) {
    nlohmann::ordered_json json{{"model", config.model},
                                {"weights", file.string()},
                                {"out", out},
                                {"serial", serial},
                                {"tensors", kept.size()},
                                {"left_out", weights.size() - kept.size()},
                                {"test_loss", after.loss},
                                {"saved_test_loss", before.loss}};
    if (after.accuracy) json["test_accuracy"] = *after.accuracy;
    if (before.accuracy) json["saved_test_accuracy"] = *before.accuracy;
    fmt::print("{}\n", json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
    return 0;
  }
  std::vector<Row> rows{{"model", config.model},
                        {"weights", file.string()},
                        {"written", fmt::format("{} ({} tensors)", out, kept.size())}};
  if (kept.size() < weights.size()) {
    rows.push_back(
        {"left out", fmt::format("{} tensors of the coarse parts", weights.size() - kept.size())});
    rows.push_back({"test_accuracy torn", accuracy_text(before)});
    rows.push_back({"test_accuracy serial", accuracy_text(after)});
  } else {
    rows.push_back({"test_accuracy", accuracy_text(after)});
  }
  fmt::print("{}", table(rows, 2));
  return 0;
}

}  // namespace

Verb export_verb() {
  std::vector<Option> options = saved_weights_options(evaluation_keys());
  options.push_back({.name = "--serial",
                     .value = "",
                     .help = "of a torn network: the model itself, without the coarse parts"});
  options.push_back({.name = "--out", .value = "FILE.safetensors", .help = "what to write"});
  options.push_back({.name = "--json", .value = "", .help = "one JSON object on stdout"});
  return {.name = "export",
          .about = "Write saved weights to a file, and say how good they are.",
          .examples = {"plait export --run runs/001-resnet20 --out resnet20.safetensors",
                       "plait export --run runs/002-resnet164 --serial --out serial.safetensors"},
          .options = std::move(options),
          .run = run_export};
}

}  // namespace plait
