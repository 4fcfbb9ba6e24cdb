// Networks that are no chains against plain SGD, bit for bit: tensors with several readers,
// residual connections that a pipeline cuts, and inputs that are read again far behind.
#include "base/error.hpp"
#include "run/noise_images.hpp"
#include "run/plain_sgd.hpp"
#include "run/training.hpp"

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

struct Case {
  std::string strategy;
  int workers;
  int microbatches = 4;
  std::string pipeline = "sync";
};

std::ostream& operator<<(std::ostream& out, const Case& one) {
  return out << one.strategy << "_" << one.pipeline << "_" << one.workers << "_workers_"
             << one.microbatches << "_microbatches";
}

class GraphOracle : public TrainTest {
 protected:
  session::TrainConfig config_of(const Case& one) {
    session::TrainConfig config = small();
    write_text(folder_ / "branches.toml", kBranches);
    config.model = (folder_ / "branches.toml").string();
    config.data = noise_images(folder_);
    config.strategy = one.strategy;
    config.workers = one.workers;
    config.microbatches = one.microbatches;
    config.pipeline = one.pipeline;
    config.threads = 1;
    config.batch = 16;
    config.epochs = 2;
    config.checkpoint_every = 0;
    config.train_limit = 64;
    config.test_limit = 16;
    config.stall_seconds = 10;
    return config;
  }

  static plan::Plan plan_of(const session::TrainConfig& config) {
    return plan_for(config, make_setup(config).model, session::machine_of(config));
  }
};

TEST_F(GraphOracle, OneWorkerIsPlainSgd) {
  for (const int microbatches : {1, 3, 4}) {
    session::TrainConfig config = config_of({"serial", 1, microbatches});
    config.clip_norm = 0.5;
    EXPECT_EQ(run(config).weights_hash, PlainSgd(config, {}).run()) << microbatches;
  }
}

class EveryGraphPipeline : public GraphOracle, public testing::WithParamInterface<Case> {};

TEST_P(EveryGraphPipeline, HasTheBitsOfPlainSgd) {
  const session::TrainConfig config = config_of(GetParam());
  const plan::Plan plan = plan_of(config);
  const int delay = std::ranges::max(plan::staleness(plan));
  EXPECT_TRUE(delay == 0 || GetParam().pipeline == "async") << delay;
  EXPECT_EQ(run(config).weights_hash,
            PlainSgd(config, {.delay = plan::staleness(plan), .sums = sums_of(plan)}).run());
}

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const int workers : {2, 3, 4, 8}) {
    all.push_back({"layerpipe", workers});
    all.push_back({"layerpipe", workers, 4, "async"});
    all.push_back({"layerpipe", workers, 1, "async"});
    for (const char* strategy : {"gpipe", "1f1b", "zb-h1", "zb-h2"}) {
      all.push_back({strategy, workers});
    }
    for (const char* strategy : {"pipedream", "pipedream-replicated"}) {
      all.push_back({strategy, workers, 4, "async"});
    }
    all.push_back({"pipedream", workers, 1, "async"});
    all.push_back({"pipedream-2bw", workers, 8, "async"});
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(All, EveryGraphPipeline, testing::ValuesIn(cases()), [](const auto& one) {
  std::string name = testing::PrintToString(one.param);
  std::ranges::replace_if(
      name, [](char c) { return std::isalnum(c) == 0; }, '_');
  return name;
});

}  // namespace
}  // namespace plait::run
