// plait prune: a dense network's linear layers made sparse, as a model and weights to train on.
#include "run/prune.hpp"

#include <nlohmann/json.hpp>

#include <cstdio>

#include "base/error.hpp"
#include "base/text.hpp"
#include "checkpoint/atomic_file.hpp"
#include "cli/interrupt.hpp"
#include "cli/named_network.hpp"
#include "cli/numbers.hpp"
#include "cli/out_place.hpp"
#include "cli/saved_weights.hpp"
#include "cli/terminal.hpp"
#include "cli/torn_table.hpp"
#include "cli/verbs.hpp"
#include "cli/weights_file.hpp"
#include "graph/model_file.hpp"
#include "run/parameters.hpp"
#include "session/setup.hpp"

namespace plait::cli {

namespace {

namespace fs = std::filesystem;

std::vector<std::string> names_of(const std::string& text) {
  std::vector<std::string> names;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    names.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return names;
}

run::PruneOptions options_of(const Arguments& arguments) {
  run::PruneOptions options{.keep = names_of(arguments.text("--keep", ""))};
  if (const std::string* text = arguments.find("--sparsity")) {
    options.sparsity = parse_double(*text, "--sparsity");
  }
  if (!(options.sparsity >= 0 && options.sparsity < 1)) {
    user_error("--sparsity {} is not in [0, 1): 0.9 removes nine of ten weights", options.sparsity);
  }
  return options;
}

void write_folder(const fs::path& path, const run::PrunedModel& pruned) {
  const CleanInterrupt guard;
  const checkpoint::SafetensorsWriter weights(pruned.weights);
  checkpoint::AtomicFolder folder(path, weights.bytes());
  const auto put = [&](const std::string& name, const std::string& text) {
    FileSink sink = folder.create(name);
    sink.write(text);
    sink.close();
  };
  put("model.toml", graph::write_model(pruned.model));
  for (const graph::MatrixFile& matrix : graph::matrix_files(pruned.model))
    put(matrix.name, matrix.text);
  FileSink sink = folder.create("weights.safetensors");
  weights.write(sink);
  sink.close();
  folder.commit();
}

std::string kept_text(std::int64_t after, std::int64_t before) {
  return fmt::format("{:.2f}%",
                     100.0 * (1.0 - static_cast<double>(after) / static_cast<double>(before)));
}

void print(const run::PrunedModel& pruned, const std::string& out, bool json) {
  std::int64_t before = 0;
  std::int64_t after = 0;
  std::vector<Row> rows{{"layer", "weights", "kept", "sparsity"}};
  for (const run::PrunedLayer& layer : pruned.layers) {
    before += layer.before;
    after += layer.after;
    rows.push_back({layer.name, with_commas(layer.before), with_commas(layer.after),
                    kept_text(layer.after, layer.before)});
  }
  if (json) {
    fmt::print("{}\n", nlohmann::ordered_json{{"model", out + "/model.toml"},
                                              {"weights", out + "/weights.safetensors"},
                                              {"layers", pruned.layers.size()},
                                              {"before", before},
                                              {"after", after},
                                              {"sparsity", 1.0 - static_cast<double>(after) /
                                                                     static_cast<double>(before)}}
                           .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
    return;
  }
  rows.push_back({"total", with_commas(before), with_commas(after), kept_text(after, before)});
  fmt::print("{}", table(rows, 1, kLineColumns));
}

int run_prune(const Arguments& arguments) {
  std::string out = arguments.text("--out", "");
  if (out.empty()) user_error("prune writes a folder; add --out FOLDER");
  const run::PruneOptions options = options_of(arguments);
  out = check_new_folder(out, "--out");
  const SavedWeights saved = saved_weights(arguments, "prune");
  const bool no_data = needs_no_data(arguments, saved.config.model);
  const graph::ModelSpec model = no_data ? named_network(arguments, saved.config.model)
                                         : session::make_outline(saved.config).model;
  const std::vector<checkpoint::NamedTensor> weights =
      read_weights_aloud(saved.file.string(), model);
  std::vector<std::string> names;
  for (const checkpoint::NamedTensor& tensor : weights) names.push_back(tensor.name);
  if (is_torn(torn_by_names(1)(plan::make_network(model), names))) {
    user_error("{} belongs to a network split by parareal; run plait export --serial first",
               saved.file.string());
  }
  run::check_weights(plan::make_network(model), weights, saved.file.string());
  const run::PrunedModel pruned = run::prune(model, weights, options);
  write_folder(out, pruned);
  print(pruned, out, arguments.on("--json"));
  tell(
      "next: plait train --model {0}/model.toml \\\n    --init {0}/weights.safetensors --data "
      "{1}\n",
      out, no_data ? "DATA" : saved.config.data);
  return 0;
}

}  // namespace

Verb prune_verb() {
  std::vector<Option> options = saved_weights_options({"model", "data", "init"});
  options.push_back({.name = "--sparsity",
                     .value = "X",
                     .help = "share of each linear layer's weights to remove, smallest first",
                     .standard = "0.9"});
  options.push_back({.name = "--keep", .value = "BLOCK,...", .help = "blocks that stay dense"});
  options.push_back({.name = "--out",
                     .value = "FOLDER",
                     .help = "new: model.toml, its matrices and weights.safetensors"});
  options.push_back({.name = "--json", .value = "", .help = "one JSON object on stdout"});
  return {.name = "prune",
          .about = "Make the linear layers of a trained network sparse, to train on with the mask.",
          .examples = {"plait prune --run runs/001-mlp --sparsity 0.9 --out pruned",
                       "plait train --model pruned/model.toml --init pruned/weights.safetensors "
                       "--data glyphs"},
          .options = std::move(options),
          .run = run_prune};
}

}  // namespace plait::cli
