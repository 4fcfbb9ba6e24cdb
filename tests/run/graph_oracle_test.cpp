// Networks that are no chains against plain SGD, bit for bit: tensors with several readers,
// residual connections that a pipeline cuts, and inputs that are read again far behind.
#include "base/error.hpp"
#include "run/pipeline_case.hpp"

namespace plait::run {
namespace {

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

class GraphOracle : public PipelineTest {
 protected:
  session::TrainConfig config_of(const PipelineCase& one) {
    write_text(folder_ / "branches.toml", kBranches);
    return PipelineTest::config_of(one, (folder_ / "branches.toml").string());
  }
};

TEST_F(GraphOracle, OneWorkerIsPlainSgd) {
  for (const int microbatches : {1, 3, 4}) {
    session::TrainConfig config = config_of({"serial", "", 1, microbatches});
    config.clip_norm = 0.5;
    EXPECT_EQ(run(config).weights_hash, PlainSgd(config, {}).run()) << microbatches;
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
  for (const int workers : {2, 3, 4, 8}) {
    all.push_back({"layerpipe", "", workers});
    all.push_back({"layerpipe", "", workers, 4, "async"});
    all.push_back({"layerpipe", "", workers, 1, "async"});
    for (const char* strategy : {"gpipe", "1f1b", "zb-h1", "zb-h2"}) {
      all.push_back({strategy, "", workers});
    }
    for (const char* strategy : {"pipedream", "pipedream-replicated"}) {
      all.push_back({strategy, "", workers, 4, "async"});
    }
    all.push_back({"pipedream", "", workers, 1, "async"});
    all.push_back({"pipedream-2bw", "", workers, 8, "async"});
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(All, EveryGraphPipeline, testing::ValuesIn(graph_pipelines()),
                         pipeline_case_name);

}  // namespace
}  // namespace plait::run
