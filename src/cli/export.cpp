// plait export: saved weights as a file for others, with or without the network; of a torn one also
// as the serial one.
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>
#include <optional>

#include "base/error.hpp"
#include "base/text.hpp"
#include "cli/interrupt.hpp"
#include "cli/named_network.hpp"
#include "cli/out_place.hpp"
#include "cli/saved_weights.hpp"
#include "cli/thread_warning.hpp"
#include "cli/verbs.hpp"
#include "cli/weights_file.hpp"
#include "onnx/file.hpp"
#include "onnx/to_graph.hpp"
#include "run/parameters.hpp"
#include "session/memory_check.hpp"
#include "session/setup.hpp"
#include "strategy/parareal/torn_weights.hpp"

namespace plait::cli {

namespace {

enum class Format { safetensors, onnx };
enum class Names { plait, pytorch };

struct Wanted {
  std::string out;
  Format format = Format::safetensors;
  Names names = Names::plait;
  bool serial = false;
};

Wanted wanted_of(const Arguments& arguments) {
  Wanted wanted{.out = arguments.text("--out", ""), .serial = arguments.on("--serial")};
  const std::string& out = wanted.out;
  if (out.empty()) user_error("export writes a file; add --out FILE.safetensors or FILE.onnx");
  if (arguments.on("--onnx") || out.ends_with(".onnx")) wanted.format = Format::onnx;
  if (wanted.format == Format::safetensors && !out.ends_with(".safetensors")) {
    user_error("--out {}: the name must end in .safetensors or .onnx, or add --onnx", out);
  }
  if (wanted.format == Format::onnx && out.ends_with(".safetensors")) {
    user_error("--onnx contradicts --out {}; use one of them", out);
  }
  const std::string names = arguments.text("--names", "plait");
  if (names != "plait" && names != "pytorch") {
    user_error("--names {} is unknown; choose plait or pytorch", names);
  }
  if (names == "pytorch") wanted.names = Names::pytorch;
  if (wanted.names == Names::pytorch && wanted.format == Format::onnx) {
    user_error("--names pytorch is for .safetensors; an ONNX file needs no names to be read");
  }
  if (wanted.format == Format::onnx && !onnx::onnx_graph::has_onnx()) {
    user_error("--out {}: this plait was built without ONNX; install libonnx-dev and rebuild it",
               out);
  }
  check_file_place(out, "--out");
  return wanted;
}

/// As the names of its weights say.
plan::Network torn_network(const graph::ModelSpec& model,
                           const std::vector<checkpoint::NamedTensor>& weights) {
  std::vector<std::string> names;
  for (const checkpoint::NamedTensor& tensor : weights) names.push_back(tensor.name);
  return strategy::network_of_weights(plan::make_network(model), names, 1);
}

/// Without the blocks that tearing has added.
std::vector<checkpoint::NamedTensor> serial_part(
    const graph::ModelSpec& model, const std::vector<checkpoint::NamedTensor>& weights) {
  const plan::Network torn = torn_network(model, weights);
  std::vector<checkpoint::NamedTensor> kept;
  for (const checkpoint::NamedTensor& tensor : weights) {
    const bool added = std::ranges::any_of(torn.blocks, [&](const plan::NetworkBlock& block) {
      return block.added && tensor.name.starts_with(block.spec.name + ".");
    });
    if (!added) kept.push_back(tensor);
  }
  return kept;
}

/// What is told about a file that was written.
struct Exported {
  std::string model;
  std::string weights;
  std::string out;
  bool serial = false;
  std::size_t tensors = 0;
  std::size_t left_out = 0;
  data::ChannelStatistics statistics;
  std::optional<run::Evaluation> before;  ///< of the weights; none without data
  std::optional<run::Evaluation> after;   ///< of what was written
};

std::string accuracy_text(const run::Evaluation& evaluation) {
  return evaluation.accuracy ? fmt::format("{:.2f}%", 100 * *evaluation.accuracy) : "none";
}

std::string numbers(const std::vector<float>& values) {
  return fmt::format("{}", fmt::join(values, ","));
}

std::string exported_json(const Exported& done) {
  nlohmann::ordered_json json{{"model", done.model},     {"weights", done.weights},
                              {"out", done.out},         {"serial", done.serial},
                              {"tensors", done.tensors}, {"left_out", done.left_out}};
  if (done.after) {
    json["test_loss"] = done.after->loss;
    json["saved_test_loss"] = done.before->loss;
    json["mean"] = done.statistics.mean;
    json["deviation"] = done.statistics.deviation;
    if (done.after->accuracy) json["test_accuracy"] = *done.after->accuracy;
    if (done.before->accuracy) json["saved_test_accuracy"] = *done.before->accuracy;
  }
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string exported_table(const Exported& done) {
  std::vector<Row> rows{{"model", done.model},
                        {"weights", done.weights},
                        {"written", fmt::format("{} ({} tensors)", done.out, done.tensors)}};
  if (done.left_out > 0) {
    rows.push_back({"left out", fmt::format("{} tensors of the coarse parts", done.left_out)});
  }
  if (!done.after) {
    rows.push_back({"test_accuracy", "not measured; --data DATA measures it"});
  } else if (done.left_out > 0) {
    rows.push_back({"test_accuracy split", accuracy_text(*done.before)});
    rows.push_back({"test_accuracy serial", accuracy_text(*done.after)});
  } else {
    rows.push_back({"test_accuracy", accuracy_text(*done.after)});
  }
  if (const data::ChannelStatistics& statistics = done.statistics; !statistics.mean.empty()) {
    rows.push_back({"images", fmt::format("(x - {}) / {}", numbers(statistics.mean),
                                          numbers(statistics.deviation))});
  }
  return table(rows, 2, kLineColumns);
}

void write(const Wanted& wanted, const session::Setup& setup,
           const std::vector<checkpoint::NamedTensor>& weights, const std::string& source) {
  const CleanInterrupt guard;
  if (wanted.format == Format::onnx) {
    onnx::onnx_graph::Graph graph = onnx::to_onnx(setup.model, weights, source);
    const data::ChannelStatistics& statistics = setup.data.statistics;
    if (!statistics.mean.empty()) {
      graph.metadata = {{"mean", numbers(statistics.mean)},
                        {"deviation", numbers(statistics.deviation)}};
    }
    onnx::onnx_graph::write_onnx(wanted.out, graph);
  } else if (wanted.names == Names::pytorch) {
    checkpoint::write_safetensors(wanted.out, with_torch_names(weights, setup.model));
  } else {
    checkpoint::write_safetensors(wanted.out, weights);
  }
}

int run_export(const Arguments& arguments) {
  const Wanted wanted = wanted_of(arguments);
  const std::string& out = wanted.out;
  const auto [file, config] = saved_weights(arguments, "export");
  session::check_config(config);
  warn_of_threads(1, static_cast<int>(config.threads));
  const bool evaluates = !needs_no_data(arguments, config.model);
  const session::Setup setup =
      evaluates ? session::make_setup(config)
                : session::Setup{.data = {}, .model = named_network(arguments, config.model)};
  if (evaluates) {
    session::check_evaluation_memory(plan::make_network(setup.model),
                                     session::evaluation_batch(config, setup),
                                     session::threads_per_worker(config));
  }
  const std::vector<checkpoint::NamedTensor> weights =
      read_weights_aloud(file.string(), setup.model);
  const bool serial = wanted.serial;
  const std::vector<checkpoint::NamedTensor> whole = serial_part(setup.model, weights);
  const std::vector<checkpoint::NamedTensor>& kept = serial ? whole : weights;
  if (kept.size() > whole.size() && wanted.format == Format::onnx) {
    user_error("{} belongs to a network split by parareal; add --serial", file.string());
  }
  if (wanted.names == Names::pytorch) with_torch_names(kept, setup.model);  // refused now
  // Before it is written: weights of another model are refused here.
  std::optional<run::Evaluation> before;
  std::optional<run::Evaluation> after;
  if (evaluates) {
    before = session::evaluate_weights(config, setup, weights, file.string(),
                                       {.network_of = torn_by_names(config.sweeps)});
    check_loss(*before, weights, file.string());
    after = serial && kept.size() < weights.size()
                ? session::evaluate_weights(config, setup, kept, file.string())
                : before;
  } else {
    run::check_weights(torn_network(setup.model, weights), weights, file.string());
  }
  write(wanted, setup, kept, file.string());
  const Exported exported{.model = config.model,
                          .weights = file.string(),
                          .out = out,
                          .serial = serial,
                          .tensors = kept.size(),
                          .left_out = weights.size() - kept.size(),
                          .statistics = setup.data.statistics,
                          .before = before,
                          .after = after};
  if (arguments.on("--json")) {
    fmt::print("{}\n", exported_json(exported));
  } else {
    fmt::print("{}", exported_table(exported));
  }
  return 0;
}

}  // namespace

Verb export_verb() {
  std::vector<Option> options = saved_weights_options(evaluation_keys());
  options.push_back({.name = "--serial",
                     .value = "",
                     .help = "of a network split by parareal: without the coarse parts"});
  options.push_back(
      {.name = "--names",
       .value = "plait|pytorch",
       .help = "names of the tensors in a .safetensors file; pytorch: networks of torchvision only",
       .standard = "plait"});
  options.push_back(
      {.name = "--onnx", .value = "", .help = "write ONNX whatever the name of the file"});
  options.push_back({.name = "--out", .value = "FILE", .help = ".safetensors or .onnx to write"});
  options.push_back({.name = "--json", .value = "", .help = "one JSON object on stdout"});
  return {.name = "export",
          .about = "Write saved weights to a file and evaluate them.",
          .examples = {"plait export --run runs/001-resnet20 --out resnet20.safetensors",
                       "plait export --run runs/002-resnet164 --serial --out serial.safetensors",
                       "plait export --run runs/001-resnet20 --out resnet20.onnx",
                       "plait export --run runs/001-resnet20 --names pytorch --out "
                       "torch.safetensors"},
          .options = std::move(options),
          .run = run_export};
}

}  // namespace plait::cli
