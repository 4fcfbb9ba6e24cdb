// plait infer: the GraphChallenge. Which images have any output after all layers, and how fast.
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>
#include <optional>

#include "base/error.hpp"
#include "base/text.hpp"
#include "cli/infer_problem.hpp"
#include "cli/out_place.hpp"
#include "cli/thread_warning.hpp"
#include "cli/verbs.hpp"
#include "graph/radixnet.hpp"
#include "kernels/sparse/inference.hpp"
#include "report/write_file.hpp"

namespace plait::cli {

namespace {

using kernels::sparse::InferenceResult;
using kernels::sparse::SparseInference;

struct Answer {
  std::vector<std::int64_t> images;  ///< from 1
  std::int64_t edges = 0;            ///< of the network
  double kept_seconds = 0;
  std::optional<double> dropped_seconds{};
};

Answer answer_of(const InferProblem& problem, bool keep_all) {
  const SparseInference chain(problem.network.layers, problem.network.bias, graph::kRadixNetClip);
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
double rate(const InferProblem& problem, const Answer& answer, double seconds) {
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

std::string json_text(const InferProblem& problem, const Answer& answer) {
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

std::string table_text(const InferProblem& problem, const Answer& answer) {
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
  const InferProblem problem = read_infer_problem(arguments);
  warn_of_threads(1, problem.threads);
  const Answer answer = answer_of(problem, arguments.on("--keep-all"));
  if (const std::string* file = arguments.find("--out")) {
    report::write_file(*file, fmt::format("{}{}", fmt::join(answer.images, "\n"),
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

}  // namespace plait::cli
