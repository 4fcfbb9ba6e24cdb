// Networks that are no chains against plain SGD, bit for bit: tensors with several readers,
// residual connections that a pipeline cuts, inputs that are read again far behind, and slices.
#include <gmock/gmock.h>

#include <map>

#include "base/error.hpp"
#include "run/pipeline_case.hpp"

namespace plait::run {
namespace {

using testing::UnorderedElementsAre;

/// `stem` has three readers, `sum1` two, and `last` reads the images once more.
constexpr const char* kBranches = R"(
[[block]]
name = "stem"
layers = [{type = "convolution", out = 8, kernel = 3, padding = 1}, {type = "batch_norm"}, {type = "relu"}]
[[block]]
name = "a"
layers = [{type = "convolution", out = 8, kernel = 3, padding = 1}, {type = "batch_norm"}, {type = "relu"}]
[[block]]
name = "b"
layers = [{type = "convolution", out = 8, kernel = 3, padding = 1}]
[[block]]
name = "sum1"
inputs = ["b", "stem"]
layers = [{type = "add"}, {type = "relu"}]
[[block]]
name = "c"
layers = [{type = "convolution", out = 8, kernel = 1}, {type = "tanh"}]
[[block]]
name = "d"
inputs = ["sum1"]
layers = [{type = "convolution", out = 8, kernel = 3, padding = 1}]
[[block]]
name = "sum2"
inputs = ["c", "d", "stem"]
layers = [{type = "add", from = ["c", "d"]}, {type = "add", from = ["add1", "stem"]}, {type = "relu"}]
[[block]]
name = "last"
inputs = ["input", "sum2"]
layers = [{type = "convolution", out = 8, kernel = 1, from = "input"}, {type = "add", from = ["conv", "sum2"]}]
[[block]]
name = "fc"
layers = [{type = "global_average_pool"}, {type = "flatten"}, {type = "linear", out = "classes"}]
)";

/// Three slices each of an image that lies in blocks and of a row of features; one is read twice,
/// and the whole is read too, last: there is a gradient to which all slices add.
constexpr const char* kSlices = R"(
[[block]]
name = "stem"
layers = [{type = "convolution", out = 16, kernel = 3, padding = 1}, {type = "batch_norm"}, {type = "relu"}]
[[block]]
name = "parts"
layers = [{type = "split", sizes = [4, 3, 9]}]
[[block]]
name = "a"
inputs = ["parts.2"]
layers = [{type = "convolution", out = 8, kernel = 3, padding = 1}]
[[block]]
name = "b"
inputs = ["parts.0"]
layers = [{type = "convolution", out = 8, kernel = 3, padding = 1}]
[[block]]
name = "c"
inputs = ["parts.1"]
layers = [{type = "convolution", out = 8, kernel = 1}, {type = "tanh"}]
[[block]]
name = "whole"
inputs = ["stem"]
layers = [{type = "convolution", out = 8, kernel = 1}]
[[block]]
name = "sum"
inputs = ["a", "b", "c", "whole"]
layers = [{type = "add", from = ["a", "b"]}, {type = "add", from = ["add1", "c"]}, {type = "add", from = ["add2", "whole"]},
          {type = "max_pool", kernel = 4}]
[[block]]
name = "features"
layers = [{type = "flatten"}, {type = "linear", out = 24}]
[[block]]
name = "pieces"
layers = [{type = "split", sizes = [7, 5, 12]}]
[[block]]
name = "gate"
inputs = ["pieces.0"]
layers = [{type = "linear", out = 12}, {type = "sigmoid"}]
[[block]]
name = "join"
inputs = ["pieces.1", "gate", "pieces.2", "pieces.0", "features"]
layers = [{type = "multiply", from = ["gate", "pieces.2"]},
          {type = "concat", from = ["pieces.1", "multiply", "pieces.0", "features"]}]
[[block]]
name = "fc"
layers = [{type = "linear", out = "classes"}]
)";

const std::map<std::string, std::string> kGraphs{{"branches", kBranches}, {"slices", kSlices}};

class GraphOracle : public PipelineTest {
 protected:
  session::TrainConfig config_of(const PipelineCase& one) {
    PipelineCase named = one;
    named.model = (folder_ / (one.model + ".toml")).string();
    write_text(named.model, kGraphs.at(one.model));
    return PipelineTest::config_of(named);
  }
};

TEST_F(GraphOracle, OneWorkerIsPlainSgd) {
  for (const auto& [model, text] : kGraphs) {
    for (const int microbatches : {1, 3, 4}) {
      session::TrainConfig config = config_of({"serial", model, 1, microbatches});
      config.clip_norm = 0.5;
      EXPECT_EQ(run(config).weights_hash, PlainSgd(config, {}).run())
          << model << ", " << microbatches;
    }
  }
}

TEST_F(GraphOracle, SlicesAddTheirGradientsThereOrFromMemoryOfTheirOwn) {
  const Chain chain(make_setup(config_of({"serial", "slices", 1})).model,
                    {.batch = 4, .threads = 1});
  const plan::Network& network = chain.network();
  std::vector<std::string> there;
  std::vector<std::string> apart;
  for (int b = 0; b < network.size(); ++b) {
    const plan::NetworkBlock& block = network.blocks[static_cast<std::size_t>(b)];
    const bool slice = std::holds_alternative<ops::Slice>(block.spec.nodes.back().layer);
    if (!slice || !network.adds_gradient(b, block.srcs.front())) continue;
    const bool adds = chain.block(static_cast<std::size_t>(b)).traits().adds_gradient;
    (adds ? there : apart).push_back(block.name);
  }
  EXPECT_THAT(there, UnorderedElementsAre("pieces.0", "pieces.1", "pieces.2"));
  EXPECT_THAT(apart, UnorderedElementsAre("parts.0", "parts.1", "parts.2"));
}

TEST_F(GraphOracle, ReplicatedPipelinesHaveReplicas) {
  for (const char* pipeline : {"sync", "async"}) {
    for (const auto& [model, text] : kGraphs) {
      const plan::Plan plan = plan_of(config_of({"layerpipe-replicated", model, 4, 4, pipeline}));
      EXPECT_GT(std::ranges::max(sums_of(plan)), 1) << model << ", " << pipeline;
    }
  }
}

class EveryGraphPipeline : public GraphOracle, public testing::WithParamInterface<PipelineCase> {};

TEST_P(EveryGraphPipeline, HasTheBitsOfPlainSgd) {
  const session::TrainConfig config = config_of(GetParam());
  const plan::Plan plan = plan_of(config);
  const int delay = std::ranges::max(plan::staleness(plan));
  EXPECT_TRUE(delay == 0 || GetParam().pipeline == "async") << delay;
  EXPECT_EQ(run(config).weights_hash, oracle(config, plan));
}

std::vector<PipelineCase> graph_pipelines() {
  std::vector<PipelineCase> all;
  for (const auto& [model, text] : kGraphs) {
    for (const int workers : {2, 3, 4, 8}) {
      all.push_back({"layerpipe", model, workers});
      all.push_back({"layerpipe", model, workers, 4, "async"});
      all.push_back({"layerpipe", model, workers, 1, "async"});
      for (const char* strategy : {"layerpipe-replicated", "gpipe", "1f1b", "zb-h1", "zb-h2"}) {
        all.push_back({strategy, model, workers});
      }
      for (const char* strategy : {"layerpipe-replicated", "pipedream", "pipedream-replicated"}) {
        all.push_back({strategy, model, workers, 4, "async"});
      }
      all.push_back({"pipedream", model, workers, 1, "async"});
      all.push_back({"pipedream-2bw", model, workers, 8, "async"});
    }
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(All, EveryGraphPipeline, testing::ValuesIn(graph_pipelines()),
                         pipeline_case_name);

}  // namespace
}  // namespace plait::run
