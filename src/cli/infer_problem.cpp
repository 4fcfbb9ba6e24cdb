// Reads or generates the network and the images of plait infer.
#include "cli/infer_problem.hpp"

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/rng.hpp"
#include "graph/radixnet.hpp"
#include "run/cores.hpp"

namespace plait::cli {

namespace {

constexpr std::int64_t kMaxInferThreads = 1024;
constexpr std::int64_t kMaxCount = 1 << 24;
constexpr std::int64_t kMaxPixels = std::int64_t{1} << 31;
constexpr std::string_view kOfficial = "graphchallenge:";
constexpr std::string_view kMade = "radixnet:";

graph::GraphChallenge make_network(const graph::RadixNetSize& size, std::uint64_t seed) {
  graph::GraphChallenge network{
      .neurons = size.neurons, .bias = graph::radixnet_bias(size.neurons), .layers = {}};
  for (const auto& pattern : graph::make_radixnet(size, seed)) {
    const auto edges = static_cast<std::size_t>(pattern->size());
    network.layers.push_back(
        {pattern, std::make_shared<const std::vector<float>>(edges, graph::kRadixNetWeight)});
  }
  return network;
}

graph::GraphChallenge network_of(const std::string& model, std::uint64_t seed) {
  if (model.starts_with(kOfficial))
    return graph::read_graphchallenge(model.substr(kOfficial.size()));
  if (model.starts_with(kMade)) {
    return make_network(graph::parse_radixnet(model.substr(kMade.size())), seed);
  }
  user_error("--model {}: infer takes graphchallenge:FOLDER or radixnet:NEURONSxLAYERS", model);
}

/// Every image has a share of pixels of its own; those above three tenths live long.
tensor::SparsePattern random_images(std::int64_t count, std::int64_t pixels, std::uint64_t seed) {
  tensor::SparsePattern images{.rows = count, .columns = pixels, .row_begin = {0}, .column = {}};
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

void repeat(tensor::SparsePattern& images, std::int64_t times) {
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

tensor::SparsePattern images_of(const Arguments& arguments, const InferProblem& problem,
                                std::uint64_t seed) {
  const std::int64_t neurons = problem.network.neurons;
  const std::int64_t count = arguments.integer("--count", 1200, {1, kMaxCount});
  if (const std::string* file = arguments.find("--images")) {
    if (arguments.find("--count") != nullptr) {
      user_error("--count is for generated images; omit it with --images");
    }
    return graph::read_sparse_images(*file, neurons);
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
  const std::vector<std::int64_t> once = graph::read_categories(file);
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

}  // namespace

InferProblem read_infer_problem(const Arguments& arguments) {
  const std::string* model = arguments.find("--model");
  if (model == nullptr) user_error("infer needs a network; add --model graphchallenge:FOLDER");
  const auto seed = static_cast<std::uint64_t>(arguments.integer("--seed", 1, {0, INT64_MAX}));
  const std::int64_t threads = arguments.integer("--threads", 0, {0, kMaxInferThreads});
  const std::int64_t times = arguments.integer("--repeat", 1, {1, kMaxCount});
  const Stopwatch watch;
  InferProblem problem{
      .model = *model, .network = network_of(*model, seed), .images = {}, .truth = {}};
  problem.threads = threads > 0 ? static_cast<int>(threads) : run::usable_cores();
  problem.images = images_of(arguments, problem, seed);
  if (const std::string* truth = arguments.find("--truth")) {
    problem.truth = truth_of(*truth, problem.images.rows, times);
  }
  repeat(problem.images, times);
  problem.read_seconds = watch.seconds();
  return problem;
}

}  // namespace plait::cli
