// The seeds of the fuzz target plan_json: plans of today as documents, which are read to the end.
// Seeds of another version would all be refused in the first line. After a change of documents:
//   PLAIT_WRITE_SEEDS=1 build/release/tests/strategy_tests --gtest_filter='PlanSeeds.*'
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "cost/analytic.hpp"
#include "fuzz/plan_json_model.hpp"
#include "plan/json.hpp"
#include "strategy/strategy.hpp"

namespace plait::strategy {
namespace {

namespace fs = std::filesystem;

/// Three blocks of convolution, BatchNorm and ReLU, the third with the weights of the second.
graph::ModelSpec small_model(bool tied) {
  graph::ModelSpec model{.name = "small", .input = {1, 4, 4}, .blocks = {}};
  for (const char* name : {"b0", "b1", "b2"}) {
    graph::BlockSpec& block =
        model.blocks.emplace_back(graph::BlockSpec{.name = name, .nodes = {}});
    block.then("conv", ops::Convolution{.out_channels = 2, .padding = {1, 1}});
    block.then("norm", ops::BatchNorm{});
    block.then("relu", ops::Activation{});
  }
  if (tied) model.blocks[2].nodes[0].weights = "b1.conv";
  graph::BlockSpec& head = model.blocks.emplace_back(graph::BlockSpec{.name = "head", .nodes = {}});
  head.then("pool", ops::Pool{});
  head.then("drop", ops::Dropout{.probability = 0.5});
  head.then("flatten", ops::Flatten{});
  head.then("linear", ops::Linear{.out_features = 3});
  return model;
}

struct Seed {
  std::string name;
  graph::ModelSpec model;
  plan::Plan plan;
};

template <class Change>
Seed seed(const std::string& name, const std::string& strategy, const graph::ModelSpec& model,
          Change change) {
  const plan::Network network = plan::make_network(model);
  const bool nodes = strategy == "daso" || strategy == "diloco";
  const plan::Machine machine{.nodes = nodes ? 2 : 1,
                              .workers_per_node = nodes || strategy == "serial" ? 1 : 2,
                              .inside = plan::kUsualInside};
  const auto cost = cost::make_analytic_cost(network);
  PlanRequest request{.network = network, .machine = machine, .cost = cost.get(), .batch = 8};
  change(request);
  return {name, model, make_plan(strategy, request)};
}

std::vector<Seed> seeds() {
  const auto usual = [](PlanRequest&) {};
  const auto micro = [](PlanRequest& request) { request.microbatches = 2; };
  return {seed("serial", "serial", small_model(false), usual),
          seed("data_parallel", "data_parallel", small_model(false),
               [](PlanRequest& request) { request.wire_bytes = 2; }),
          seed("1f1b", "1f1b", small_model(false), micro),
          seed("layerpipe_async", "layerpipe", small_model(false),
               [](PlanRequest& request) { request.pipeline.asynchronous = true; }),
          seed("tied", "zb-h1", small_model(true), micro),
          seed("parareal", "parareal", small_model(false),
               [](PlanRequest& request) {
                 request.tear = {.pieces = 2, .sweeps = 2, .half_wire = true};
               }),
          seed("daso", "daso", small_model(false), usual),
          seed("diloco", "diloco", plan_json_model(), usual),
          seed("sparse_rows", "sparse_rows", plan_json_model(), usual)};
}

fs::path file_of(const std::string& name) {
  return fs::path(PLAIT_SOURCE_DIR) / "tests/fuzz/seeds/plan_json_fuzz" / (name + ".json");
}

std::string text_of(const fs::path& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return std::move(text).str();
}

TEST(PlanSeeds, AreDocumentsOfTodaysPlans) {
  const std::vector<Seed> all = seeds();
  if (std::getenv("PLAIT_WRITE_SEEDS") != nullptr) {
    for (const Seed& one : all) std::ofstream(file_of(one.name)) << to_json(one.plan) << '\n';
  }
  std::vector<std::string> wanted;
  for (const Seed& one : all) {
    wanted.push_back(one.name + ".json");
    EXPECT_EQ(plan::plan_from_json(text_of(file_of(one.name)), one.name, one.model), one.plan);
  }
  std::vector<std::string> there;
  for (const fs::directory_entry& file : fs::directory_iterator(file_of("x").parent_path())) {
    there.push_back(file.path().filename());
  }
  EXPECT_THAT(there, testing::UnorderedElementsAreArray(wanted));
}

}  // namespace
}  // namespace plait::strategy
