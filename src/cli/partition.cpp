// plait partition: who owns which rows of a sparse network, and the words that costs.
#include "partition/partition.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "cli/interrupt.hpp"
#include "cli/named_network.hpp"
#include "cli/out_place.hpp"
#include "cli/saved_weights.hpp"
#include "cli/terminal.hpp"
#include "cli/verbs.hpp"
#include "partition/measure.hpp"
#include "partition/partition_file.hpp"
#include "partition/zoltan.hpp"
#include "report/line_chart.hpp"
#include "session/row_partitioner.hpp"
#include "strategy/sparse_rows/sparse_rows.hpp"

namespace plait::cli {

namespace {

constexpr std::int64_t kMaxParts = 1 << 16;

struct PartitionRequest {
  std::string model;
  std::vector<std::shared_ptr<const tensor::SparsePattern>> layers;
  partition::PartitionOptions options;
};

struct Found {
  partition::PartitionRecord record;
  partition::PartitionMeasure measure;
  double seconds = 0;

  /// Forward, mean over all layers but the first, whose input everybody has.
  double words_per_layer() const {
    const std::size_t layers = measure.words_forward.size() - 1;
    return layers == 0
               ? 0
               : static_cast<double>(measure.volume_words) / (2 * static_cast<double>(layers));
  }
};

PartitionRequest read_partition_request(const Arguments& arguments) {
  PartitionRequest request;
  const std::string* model = arguments.find("--model");
  if (model == nullptr) user_error("partition needs a network; add --model NAME|FILE.toml");
  request.model = *model;
  const plan::Network network = plan::make_network(trainable_network(arguments, *model));
  request.layers = strategy::row_patterns(network);
  if (request.layers.empty()) user_error("model '{}' has one layer: nothing to partition", *model);
  partition::PartitionOptions& options = request.options;
  options.parts = static_cast<int>(arguments.integer("--parts", 2, {1, kMaxParts}));
  options.method = partition::method_named(arguments.text("--method", "merged"));
  options.seed = static_cast<std::uint64_t>(arguments.integer("--seed", 1, {0, INT64_MAX}));
  const bool quiet = arguments.on("--quiet") || !find_terminal().redraws;
  if (!quiet) {
    options.progress = [](int done, int all) {
      tell("\r{:3} % {}", 100 * done / std::max(1, all), done == all ? "\r      \r" : "");
    };
  }
  return request;
}

Found find(const PartitionRequest& request, partition::PartitionMethod method) {
  partition::PartitionOptions options = request.options;
  options.method = method;
  const Stopwatch watch;
  Found found{.record = {.partition = partition::make_partition(request.layers, options),
                         .method = method,
                         .seed = options.seed,
                         .network = session::partitioned_hash(request.layers)},
              .measure = {}};
  found.seconds = watch.seconds();
  found.measure = partition::measure_partition(request.layers, found.record.partition);
  return found;
}

std::string json_text(const PartitionRequest& request, const Found& found) {
  return nlohmann::ordered_json{{"model", request.model},
                                {"method", partition::method_name(found.record.method)},
                                {"parts", found.record.partition.parts},
                                {"layers", request.layers.size()},
                                {"volume_words", found.measure.volume_words},
                                {"words_per_layer", found.words_per_layer()},
                                {"max_receive_words", found.measure.max_receive_words},
                                {"messages", found.measure.messages},
                                {"imbalance", found.measure.imbalance},
                                {"seconds", found.seconds},
                                {"words_forward", found.measure.words_forward}}
      .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string table_text(const std::vector<Found>& all) {
  std::vector<Row> rows{
      {"method", "words/layer", "volume", "most received", "messages", "imbalance", "seconds"}};
  for (const Found& one : all) {
    rows.push_back(
        {std::string(partition::method_name(one.record.method)),
         fmt::format("{:.1f}", one.words_per_layer()), with_commas(one.measure.volume_words),
         with_commas(one.measure.max_receive_words), with_commas(one.measure.messages),
         fmt::format("{:.2f}%", 100 * one.measure.imbalance), fmt::format("{:.2f}", one.seconds)});
  }
  return table(rows, 1, kLineColumns);
}

report::LineChart chart_of(const PartitionRequest& request, const std::vector<Found>& all) {
  report::LineChart chart{.title = fmt::format("{} in {} parts: words sent forward, by layer",
                                               request.model, request.options.parts),
                          .x = "layer",
                          .y = "words per sample",
                          .lines = {}};
  for (const Found& one : all) {
    report::ChartLine line{
        .name = fmt::format("{} ({:.0f})", partition::method_name(one.record.method),
                            one.words_per_layer()),
        .points = {}};
    for (std::size_t k = 1; k < one.measure.words_forward.size(); ++k) {
      line.points.push_back(
          {static_cast<double>(k + 1), static_cast<double>(one.measure.words_forward[k])});
    }
    chart.lines.push_back(std::move(line));
  }
  return chart;
}

std::vector<partition::PartitionMethod> wanted_methods(const Arguments& arguments,
                                                       partition::PartitionMethod chosen) {
  if (arguments.find("--picture") == nullptr && !arguments.on("--compare")) return {chosen};
  std::vector<partition::PartitionMethod> methods{partition::PartitionMethod::random,
                                                  partition::PartitionMethod::block};
  if (partition::has_zoltan()) methods.push_back(partition::PartitionMethod::zoltan);
  methods.push_back(partition::PartitionMethod::merged);
  std::erase(methods, chosen);
  methods.push_back(chosen);
  return methods;
}

int run_partition(const Arguments& arguments) {
  if (const std::string* file = arguments.find("--out")) check_file_place(*file, "--out");
  if (const std::string* file = arguments.find("--picture")) {
    check_file_place(*file, "--picture", ".svg");
  }
  const PartitionRequest request = read_partition_request(arguments);
  std::vector<Found> all;
  for (const partition::PartitionMethod method :
       wanted_methods(arguments, request.options.method)) {
    all.push_back(find(request, method));
  }
  const Found& chosen = all.back();
  if (const std::string* file = arguments.find("--out")) {
    const CleanInterrupt guard;
    partition::write_partition(*file, chosen.record);
    tell(
        "partition in {}; next: plait train --model {} \\\n"
        "    --strategy sparse_rows --workers {} --partition {}\n",
        *file, request.model, request.options.parts, *file);
  }
  if (const std::string* file = arguments.find("--picture")) {
    report::write_line_chart(*file, chart_of(request, all));
    tell("words per layer by method are in {}\n", *file);
  }
  if (arguments.on("--json")) {
    fmt::print("{}\n", json_text(request, chosen));
  } else {
    fmt::print("{}, {} layers, {} parts; words are numbers per sample\n\n{}", request.model,
               request.layers.size(), request.options.parts, table_text(all));
  }
  return 0;
}

}  // namespace

Verb partition_verb() {
  return {
      .name = "partition",
      .about = "Distribute the rows of a sparse network over workers with little communication.",
      .examples = {"plait partition --model radixnet:1024x120 --parts 8",
                   "plait partition --model radixnet:1024x120 --parts 8 --out p8.safetensors",
                   "plait partition --model graphchallenge:DIR --parts 8 --picture words.svg"},
      .options =
          {{.name = "--model",
            .value = "NAME|FILE.toml",
            .help = "radixnet:NEURONSxLAYERS, graphchallenge:FOLDER, a file of plait "
                    "prune, ..."},
           {.name = "--parts", .value = "N", .help = "workers", .standard = "2"},
           {.name = "--method",
            .value = "NAME",
            .help = "merged, zoltan, block or random",
            .standard = "merged"},
           {.name = "--seed", .value = "N", .help = "seed of random choices", .standard = "1"},
           {.name = "--out",
            .value = "FILE.safetensors",
            .help = "write the partition, for plait train --partition"},
           {.name = "--compare", .value = "", .help = "all methods beside each other"},
           {.name = "--picture",
            .value = "FILE.svg",
            .help = "words per layer, all methods beside each other"},
           {.name = "--data-shape",
            .value = "CxHxW",
            .help = "shape of one sample; default: what the network usually takes"},
           {.name = "--classes",
            .value = "N",
            .help = "outputs, if a file leaves them open",
            .standard = "10"},
           {.name = "--json", .value = "", .help = "one JSON object on stdout"},
           {.name = "--quiet", .value = "", .help = "no progress"}},
      .run = run_partition};
}

}  // namespace plait::cli
