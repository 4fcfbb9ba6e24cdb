// Tied weights against plain SGD, bit for bit: one worker, pipelines that have the users of one
// matrix on different workers, data parallelism, resumed runs. And the gradient itself against
// finite differences.
#include <cmath>
#include <set>

#include "base/rng.hpp"
#include "graph/model_file.hpp"
#include "plan/worker_memory.hpp"
#include "run/pipeline_case.hpp"
#include "run/solo_worker.hpp"
#include "run/tied_models.hpp"

namespace plait::run {
namespace {

class TiedOracle : public PipelineTest {
 protected:
  session::TrainConfig config_of(const PipelineCase& one) {
    PipelineCase named = one;
    named.model = (folder_ / (one.model + ".toml")).string();
    write_text(named.model, tied_models().at(one.model));
    return PipelineTest::config_of(named);
  }
};

int count_sent_gradients(const plan::Plan& plan) {
  int count = 0;
  for (const plan::Program& program : plan.programs) {
    for (const plan::Task& task : program.tasks) {
      const plan::Message* message = plan::message_of(task);
      if (message != nullptr && message->value.role == plan::Role::gradient) ++count;
    }
  }
  return count;
}

TEST_F(TiedOracle, OneWorkerIsPlainSgd) {
  for (const auto& [model, text] : tied_models()) {
    for (const int microbatches : {1, 3, 4}) {
      session::TrainConfig config = config_of({"serial", model, 1, microbatches});
      config.clip_norm = 0.5;
      EXPECT_EQ(run(config).weights_hash, PlainSgd(config, {}).run())
          << model << ", " << microbatches;
    }
  }
}

class EveryTiedPipeline : public TiedOracle, public testing::WithParamInterface<PipelineCase> {};

TEST_P(EveryTiedPipeline, HasTheBitsOfPlainSgd) {
  const session::TrainConfig config = config_of(GetParam());
  const plan::Plan plan = plan_of(config);
  const int delay = std::ranges::max(plan::staleness(plan));
  EXPECT_TRUE(delay == 0 || GetParam().pipeline == "async") << delay;
  EXPECT_EQ(run(config).weights_hash, oracle(config, plan));
}

std::vector<PipelineCase> tied_pipelines() {
  std::vector<PipelineCase> all;
  for (const auto& [model, text] : tied_models()) {
    for (const int workers : {2, 3, 4}) {
      all.push_back({"layerpipe", model, workers});
      all.push_back({"layerpipe", model, workers, 4, "async"});
      all.push_back({"layerpipe", model, workers, 1, "async"});
      for (const char* strategy : {"gpipe", "1f1b", "zb-h1", "zb-h2"}) {
        all.push_back({strategy, model, workers});
      }
      all.push_back({"layerpipe-replicated", model, workers});
      for (const char* strategy : {"pipedream", "pipedream-replicated", "layerpipe-replicated"}) {
        all.push_back({strategy, model, workers, 4, "async"});
      }
    }
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(All, EveryTiedPipeline, testing::ValuesIn(tied_pipelines()),
                         pipeline_case_name);

/// The gradient of a user is summed where it is made, and sent to the owner by one worker.
TEST_F(TiedOracle, UsersHaveReplicasThatTheirOwnersHaveNot) {
  int found = 0;
  for (const int workers : {3, 4}) {
    for (const char* strategy : {"pipedream-replicated", "layerpipe-replicated"}) {
      const plan::Plan plan = plan_of(config_of({strategy, "uneven", workers, 4, "async"}));
      std::map<int, std::set<int>> makers;  // workers by block
      for (int worker = 0; worker < plan.workers(); ++worker) {
        for (const plan::Task& task : plan.programs[static_cast<std::size_t>(worker)].tasks) {
          if (plan::is<plan::BackwardWeights>(task)) makers[plan::block_of(task)].insert(worker);
        }
      }
      for (const auto& [block, of] : makers) {
        const int owner = plan.network.owner_of(block);
        found += plan.network.is_tied(block) && of.size() > 1 && makers[owner] != of ? 1 : 0;
      }
    }
  }
  EXPECT_GT(found, 0);
}

TEST_F(TiedOracle, WithoutReplicasEveryCutHasTheBitsOfOneWorker) {
  int sent = 0;
  for (const auto& [model, text] : tied_models()) {
    const std::string one = run(config_of({"serial", model, 1})).weights_hash;
    for (const int workers : {2, 3, 4}) {
      for (const char* strategy : {"layerpipe", "gpipe", "1f1b", "zb-h1"}) {
        session::TrainConfig config = config_of({strategy, model, workers});
        sent += count_sent_gradients(plan_of(config));
        EXPECT_EQ(run(config).weights_hash, one) << model << ", " << strategy << ", " << workers;
      }
    }
  }
  EXPECT_GT(sent, 20) << "users are on different workers";
}

TEST_F(TiedOracle, DataParallelAddsTheUsersBeforeTheWorkers) {
  for (const char* model : {"linears", "convolutions"}) {
    for (const int workers : {2, 4}) {
      const session::TrainConfig config = config_of({"data_parallel", model, workers, 1});
      session::TrainConfig plain = config;
      plain.microbatches = workers;
      const std::size_t blocks = plan_of(config).network.blocks.size();
      EXPECT_EQ(run(config).weights_hash,
                PlainSgd(plain, {.sums = std::vector<int>(blocks, workers),
                                 .together = std::vector<bool>(blocks, true)})
                    .run())
          << model << ", " << workers;
    }
  }
}

/// Wide, so that arrays of parameters are what counts.
TEST_F(TiedOracle, MemoryIsForeseen) {
  const std::string model = (folder_ / "wide.toml").string();
  std::string text = R"(
[[block]]
name = "fc0"
layers = [{type = "flatten"}, {type = "linear", out = 300}, {type = "tanh"}]
)";
  for (const char* name : {"fc1", "fc2", "fc3", "fc4"}) {
    text += fmt::format("[[block]]\nname = \"{}\"\n{}layers = [{{type = \"linear\", out = 300}}]\n",
                        name, std::string(name) == "fc1" ? "" : "weights = \"fc1\"\n");
  }
  write_text(model, text + "[[block]]\nlayers = [{type = \"linear\", out = \"classes\"}]\n");
  for (const PipelineCase& one : std::vector<PipelineCase>{{"serial", model, 1, 1},
                                                           {"data_parallel", model, 2, 1},
                                                           {"1f1b", model, 3},
                                                           {"layerpipe", model, 3, 1, "async"}}) {
    const session::TrainResult result = run(PipelineTest::config_of(one));
    plan::MemoryForecast forecast(result.plan, {.threads = 1});
    for (int worker = 0; worker < result.workers; ++worker) {
      const auto held = static_cast<double>(result.memory[static_cast<std::size_t>(worker)]);
      EXPECT_NEAR(static_cast<double>(forecast.of(worker).held()), held, 0.1 * held)
          << one.strategy << ", worker " << worker;
    }
  }
}

TEST_F(TiedOracle, TailsAndUnevenMicrobatchesHaveTheBitsOfOneWorker) {
  session::TrainConfig config = config_of({"serial", "convolutions", 1, 3});
  config.train_limit = 59;  // three of 16 and one of 11
  const std::string one = run(config).weights_hash;
  config.workers = 3;
  for (const char* strategy : {"layerpipe", "1f1b"}) {
    config.strategy = strategy;
    EXPECT_EQ(run(config).weights_hash, one) << strategy;
  }
}

TEST_F(TiedOracle, ResumesToTheSameBits) {
  for (const char* pipeline : {"sync", "async"}) {
    session::TrainConfig config = config_of({"layerpipe", "residual", 3, 2, pipeline});
    config.optimizer = "adam";
    config.checkpoint_every = 3;
    const std::string whole = run(config).weights_hash;
    config.run_dir = (folder_ / pipeline).string();
    config.steps = 3;
    run(config);
    config.steps = 0;
    config.resume = true;
    EXPECT_EQ(run(config).weights_hash, whole) << pipeline;
  }
}

TEST_F(TiedOracle, WeightsAreSavedOnceUnderTheOwnersName) {
  session::TrainConfig config = config_of({"1f1b", "residual", 2});
  config.run_dir = (folder_ / "run").string();
  run(config);
  std::vector<std::string> names;
  const auto file = session::weights_of_run(config.run_dir);
  for (const checkpoint::NamedTensor& one : checkpoint::read_safetensors(file).tensors) {
    names.push_back(one.name);
  }
  const auto count = [&](const char* name) { return std::ranges::count(names, name); };
  EXPECT_EQ(count("one.conv1.weight"), 1);
  EXPECT_EQ(count("one.conv2.weight"), 0);
  EXPECT_EQ(count("one.conv3.weight"), 0);
  EXPECT_EQ(count("one.bn3.weight"), 0);
  EXPECT_EQ(count("one.bn3.running_mean"), 1) << "statistics are each layer's own";
}

/// The loss with these weights, and with a learning rate of 1 the gradient of it.
class TiedGradient : public testing::TestWithParam<std::string> {
 protected:
  TiedGradient()
      : network_(plan::make_network(
            graph::parse_model(tied_models().at(GetParam()), "tied.toml", {3, 16, 16}, 10))) {
    batch_.images = tensor::Tensor(tensor::Shape{4, 3, 16, 16});
    batch_.targets = tensor::Tensor(tensor::Shape{4, 1});
    Rng rng(7, Purpose::test);
    for (float& x : batch_.images.floats()) x = rng.normal();
    for (float& x : batch_.targets.floats()) x = static_cast<float>(rng.below(10));
  }

  using Weights = std::vector<checkpoint::NamedTensor>;

  double step(kernels::Backend backend, double rate, Weights& weights) const {
    SoloWorker worker(
        strategy::make_plan("serial", {.network = network_, .machine = {}, .batch = 4}),
        {.backend = backend, .seed = 3});
    if (!weights.empty()) worker.parameters().import_weights(weights, "the test");
    const double loss = worker.step(batch_, rate).sum / 4;
    weights = worker.parameters().export_weights();
    return loss;
  }

  plan::Network network_;
  data::Batch batch_;
};

TEST_P(TiedGradient, IsThatOfFiniteDifferences) {
  for (const kernels::Backend backend : {kernels::Backend::onednn, kernels::Backend::reference}) {
    Weights before;
    step(backend, 0, before);
    Weights after = before;
    step(backend, 1, after);
    int seen = 0;
    for (std::size_t t = 0; t < before.size(); ++t) {
      const std::string& name = before[t].name;
      const bool owner = name == "fc1.linear.weight" || name == "conv1.conv.weight" ||
                         name == "one.conv1.weight" || name == "one.bn1.weight";
      if (!owner) continue;
      ++seen;
      for (const std::size_t at : {std::size_t{0}, std::size_t{3}, std::size_t{7}}) {
        const double gradient = before[t].tensor.floats()[at] - after[t].tensor.floats()[at];
        constexpr double kStep = 4e-3;
        double losses[2];
        for (const int side : {0, 1}) {
          Weights moved;
          for (const auto& [one, tensor] : before) {
            moved.push_back({one, tensor::Tensor(tensor.shape())});
            std::ranges::copy(tensor.floats(), moved.back().tensor.floats().begin());
          }
          moved[t].tensor.floats()[at] += static_cast<float>(side == 0 ? -kStep : kStep);
          losses[side] = step(backend, 0, moved);
        }
        EXPECT_NEAR(gradient, (losses[1] - losses[0]) / (2 * kStep),
                    2e-3 + 0.03 * std::abs(gradient))
            << name << "[" << at << "]";
      }
    }
    EXPECT_GE(seen, 1);
  }
}

INSTANTIATE_TEST_SUITE_P(All, TiedGradient, testing::Values("linears", "convolutions", "residual"),
                         [](const auto& one) { return one.param; });

}  // namespace
}  // namespace plait::run
