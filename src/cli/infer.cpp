// plait infer: the GraphChallenge. Which images have any output after all layers, and how fast.
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>
#include <optional>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/rng.hpp"
#include "base/text.hpp"
#include "cli/out_place.hpp"
#include "cli/thread_warning.hpp"
#include "cli/verbs.hpp"
#include "layers/sparse/inference.hpp"
#include "model/graphchallenge.hpp"
#include "model/radixnet.hpp"
#include "report/write_file.hpp"
#include "run/cores.hpp"

namespace plait {

namespace {

using sparse::InferenceResult;
using sparse::SparseInference;

constexpr std::int64_t kMaxThreads = 1024;
constexpr std::int64_t kMaxCount = 1 << 24;
constexpr std::int64_t kMaxPixels = std::int64_t{1} << 31;
constexpr std::string_view kOfficial = "graphchallenge:";
constexpr std::string_view kMade = "radixnet:";

struct Problem {
  std::string model;
  GraphChallenge network;
  SparsePattern images;
  std::optional<std::vector<std::int64_t>> truth;  ///< from 1
  int threads = 1;
  double read_seconds = 0;
};

GraphChallenge make_network(const RadixNetSize& size, std::uint64_t seed) {
  GraphChallenge network{
      .neurons = size.neurons, .bias = radixnet_bias(size.neurons), .layers = {}};
  for (const auto& pattern : make_radixnet(size, seed)) {
    const auto edges = static_cast<std::size_t>(pattern->size());
    network.layers.push_back(
        {pattern, std::make_shared<const std::vector<float>>(edges, kRadixNetWeight)});
  }
  return network;
}

GraphChallenge network_of(const std::string& model, std::uint64_t seed) {
  if (model.starts_with(kOfficial)) return read_graphchallenge(model.substr(kOfficial.size()));
  if (model.starts_with(kMade)) {
    return make_network(parse_radixnet(model.substr(kMade.size())), seed);
  }
  user_error("--model {}: infer takes graphchallenge:FOLDER or radixnet:NEURONSxLAYERS", model);
}

/// Every image has a share of pixels of its own; those above three tenths live long.
SparsePattern random_images(std::int64_t count, std::int64_t pixels, std::uint64_t seed) {
  SparsePattern images{.rows = count, .columns = pixels, .row_begin = {0}, .column = {}};
  for (std::int64_t image = 0; image < count; ++image) {
    Rng rng(seed, Purpose::draw, static_cast<std::uint64_t>(image));
    const float share = rng.uniform(0, 0.35F);
    for (std::int64_t pixel = 0; pixel < pixels; ++pixel) {
      if (rng.uniform() < share) images.column.push_back(static_cast<std::int32_t>(pixel));
    }
    images.row_begin.push_back(images.size());
  }
  return images;
}

void repeat(SparsePattern& images, std::int64_t times) {
  if (images.size() > kMaxPixels / times || images.rows > kMaxPixels / times) {
    user_error("--repeat {}: {} images with {} pixels are too many; take a smaller number", times,
               images.rows * times, images.size());
  }
  const std::vector<std::int32_t> pixels = images.column;
  const std::vector<std::int64_t> ends(images.row_begin.begin() + 1, images.row_begin.end());
  for (std::int64_t i = 1; i < times; ++i) {
    const std::int64_t before = images.size();
    images.column.insert(images.column.end(), pixels.begin(), pixels.end());
    for (const std::int64_t end : ends) images.row_begin.push_back(before + end);
  }
  images.rows *= times;
}

SparsePattern images_of(const Arguments& arguments, const Problem& problem, std::uint64_t seed) {
  const std::int64_t neurons = problem.network.neurons;
  const std::int64_t count = arguments.integer("--count", 1200, {1, kMaxCount});
  if (const std::string* file = arguments.find("--images")) {
    if (arguments.find("--count") != nullptr) {
      user_error("--count is for generated images; omit it with --images");
    }
    return read_sparse_images(*file, neurons);
  }
  if (problem.model.starts_with(kOfficial)) {
    user_error("infer needs images; add --images FILE.tsv with lines of image, pixel, 1");
  }
  if (neurons > kMaxPixels / count) {
    user_error("--count {}: too many images of {} pixels; take a smaller number", count, neurons);
  }
  return random_images(count, neurons, seed);
}

std::vector<std::int64_t> truth_of(const std::string& file, std::int64_t images,
                                   std::int64_t times) {
  const std::vector<std::int64_t> once = read_categories(file);
  if (!once.empty() && once.back() > images) {
    user_error("{}: lists image {} but there are {} images; use the truth of these images", file,
               once.back(), images);
  }
  std::vector<std::int64_t> all;
  for (std::int64_t i = 0; i < times; ++i) {
    for (const std::int64_t image : once) all.push_back(i * images + image);
  }
  return all;
}

Problem read_problem(const Arguments& arguments) {
  const std::string* model = arguments.find("--model");
  if (model == nullptr) user_error("infer needs a network; add --model graphchallenge:FOLDER");
  const auto seed = static_cast<std::uint64_t>(arguments.integer("--seed", 1, {0, INT64_MAX}));
  const std::int64_t threads = arguments.integer("--threads", 0, {0, kMaxThreads});
  const std::int64_t times = arguments.integer("--repeat", 1, {1, kMaxCount});
  const Stopwatch watch;
  Problem problem{.model = *model, .network = network_of(*model, seed), .images = {}, .truth = {}};
  problem.threads = threads > 0 ? static_cast<int>(threads) : usable_cores();
  problem.images = images_of(arguments, problem, seed);
  if (const std::string* truth = arguments.find("--truth")) {
    problem.truth = truth_of(*truth, problem.images.rows, times);
  }
  repeat(problem.images, times);
  problem.read_seconds = watch.seconds();
  return problem;
}

struct Answer {
  std::vector<std::int64_t> images;  ///< from 1
  std::int64_t edges = 0;            ///< of the network
  double kept_seconds = 0;
  std::optional<double> dropped_seconds{};
};

Answer answer_of(const Problem& problem, bool keep_all) {
  const SparseInference chain(problem.network.layers, problem.network.bias, kRadixNetClip);
  Answer answer{.images = {}, .edges = chain.edges()};
  InferenceResult kept = chain.run(problem.images, {.drop = false, .threads = problem.threads});
  answer.kept_seconds = kept.seconds;
  if (!keep_all) {
    const InferenceResult dropped =
        chain.run(problem.images, {.drop = true, .threads = problem.threads});
    answer.dropped_seconds = dropped.seconds;
    if (dropped.images != kept.images) {
      fail("{} images have an output, but {} where dead ones were dropped", kept.images.size(),
           dropped.images.size());
    }
  }
  answer.images = std::move(kept.images);
  for (std::int64_t& image : answer.images) ++image;
  return answer;
}

/// Edges of the network times images, as if all of them were computed, per second.
double rate(const Problem& problem, const Answer& answer, double seconds) {
  return static_cast<double>(answer.edges) * static_cast<double>(problem.images.rows) / seconds;
}

/// What is wrong with the answer; empty: nothing.
std::string difference(const std::vector<std::int64_t>& truth,
                       const std::vector<std::int64_t>& found) {
  const auto [listed, has] = std::ranges::mismatch(truth, found);
  if (listed == truth.end() && has == found.end()) return {};
  if (has == found.end() || (listed != truth.end() && *listed < *has)) {
    return fmt::format("image {} has no output but the truth lists it", *listed);
  }
  return fmt::format("image {} has an output but the truth does not list it", *has);
}

std::string json_text(const Problem& problem, const Answer& answer) {
  const auto measured = [&](double seconds) {
    return nlohmann::ordered_json{{"seconds", seconds},
                                  {"edges_per_second", rate(problem, answer, seconds)}};
  };
  nlohmann::ordered_json json{{"model", problem.model},
                              {"neurons", problem.network.neurons},
                              {"layers", problem.network.layers.size()},
                              {"edges", answer.edges},
                              {"images", problem.images.rows},
                              {"threads", problem.threads},
                              {"read_seconds", problem.read_seconds},
                              {"categories", answer.images.size()},
                              {"kept", measured(answer.kept_seconds)}};
  if (answer.dropped_seconds) json["dropped"] = measured(*answer.dropped_seconds);
  if (problem.truth) json["exact"] = difference(*problem.truth, answer.images).empty();
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string table_text(const Problem& problem, const Answer& answer) {
  const auto measured = [&](double seconds) {
    return fmt::format("{:.3g} edges/s, {:.3f} s", rate(problem, answer, seconds), seconds);
  };
  std::vector<Row> rows{
      {"network", fmt::format("{} ({} layers of {} neurons, {} edges)", problem.model,
                              problem.network.layers.size(), with_commas(problem.network.neurons),
                              with_commas(answer.edges))},
      {"images", with_commas(problem.images.rows)},
      {"reading", fmt::format("{:.2f} s, not counted below", problem.read_seconds)},
      {"categories", with_commas(std::ssize(answer.images))},
      {"all images kept", measured(answer.kept_seconds)}};
  if (answer.dropped_seconds) {
    rows.push_back({"dead images dropped", measured(*answer.dropped_seconds)});
  }
  if (problem.truth && difference(*problem.truth, answer.images).empty()) {
    rows.push_back({"truth", "exactly these images"});
  }
  return table(rows, 2, kLineColumns);
}

int run_infer(const Arguments& arguments) {
  if (const std::string* file = arguments.find("--out")) check_file_place(*file, "--out");
  const Problem problem = read_problem(arguments);
  warn_of_threads(1, problem.threads);
  const Answer answer = answer_of(problem, arguments.on("--keep-all"));
  if (const std::string* file = arguments.find("--out")) {
    write_file(*file, fmt::format("{}{}", fmt::join(answer.images, "\n"),
                                  answer.images.empty() ? "" : "\n"));
  }
  fmt::print("{}", arguments.on("--json") ? json_text(problem, answer) + "\n"
                                          : table_text(problem, answer));
  if (problem.truth) {
    const std::string wrong = difference(*problem.truth, answer.images);
    if (!wrong.empty()) fail("{}", wrong);
  }
  return 0;
}

}  // namespace

Verb infer_verb() {
  return {
      .name = "infer",
      .about = "Run images through a sparse network, as the GraphChallenge asks.",
      .examples = {"plait infer --model radixnet:1024x120 --count 6000",
                   "plait infer --model graphchallenge:DIR --images images.tsv --truth "
                   "categories.tsv",
                   "plait infer --model graphchallenge:DIR --images images.tsv --repeat 50 "
                   "--threads 1 --json"},
      .options =
          {{.name = "--model",
            .value = "NAME",
            .help = "graphchallenge:FOLDER, or radixnet:NEURONSxLAYERS with all weights 1/16"},
           {.name = "--images",
            .value = "FILE.tsv",
            .help = "lines of image, pixel, 1; without it (radixnet): generated ones"},
           {.name = "--count",
            .value = "N",
            .help = "number of generated images",
            .standard = "1200"},
           {.name = "--truth",
            .value = "FILE.tsv",
            .help = "the images that must have an output; exit code 1 if they differ"},
           {.name = "--repeat", .value = "N", .help = "all images N times over", .standard = "1"},
           {.name = "--threads", .value = "N", .help = "0: all cores", .standard = "0"},
           {.name = "--keep-all",
            .value = "",
            .help = "measure only the rate without dropping dead images"},
           {.name = "--seed",
            .value = "N",
            .help = "seed of a generated network and its images",
            .standard = "1"},
           {.name = "--out", .value = "FILE.tsv", .help = "the images that have an output"},
           {.name = "--json", .value = "", .help = "one JSON object on stdout"}},
      .run = run_infer};
}

}  // namespace plait
