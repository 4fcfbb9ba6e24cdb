// Pipelines against plain SGD, bit for bit: synchronous ones against the same microbatches,
// asynchronous ones against the delays their plan states.
#include "base/error.hpp"
#include "run/pipeline_case.hpp"
#include "run/plateau_rates.hpp"

namespace plait::run {
namespace {

class PipelineOracle : public PipelineTest {
 protected:
  session::TrainConfig config_of(const PipelineCase& one) {
    session::TrainConfig config = PipelineTest::config_of(one);
    if (one.model.starts_with("mlp")) {
      config.data = small().data;
      config.train_limit = 160;
    }
    return config;
  }
};

TEST_F(PipelineOracle, OneWorkerIsPlainSgd) {
  for (const char* model : {"mlp:32-16", "vgg11", "resnet20"}) {
    const session::TrainConfig config =
        config_of({.strategy = "serial", .model = model, .workers = 1});
    EXPECT_EQ(run(config).weights_hash, PlainSgd(config, {}).run()) << model;
  }
}

TEST_F(PipelineOracle, ClippedMicrobatchesArePlainSgd) {
  for (const char* model : {"lenet", "vgg11", "resnet20"}) {
    session::TrainConfig config = config_of({.strategy = "serial", .model = model, .workers = 1});
    if (std::string_view(model) == "lenet") config.data = "glyphs";
    config.clip_norm = 0.1;
    for (const int microbatches : {1, 2, 4}) {
      config.microbatches = microbatches;
      EXPECT_EQ(run(config).weights_hash, PlainSgd(config, {}).run())
          << model << ", " << microbatches << " microbatches";
    }
  }
}

class EveryPipeline : public PipelineOracle, public testing::WithParamInterface<PipelineCase> {};

TEST_P(EveryPipeline, HasTheBitsOfPlainSgd) {
  const session::TrainConfig config = config_of(GetParam());
  const plan::Plan plan = plan_of(config);
  const int delay = std::ranges::max(plan::staleness(plan));
  if (GetParam().pipeline == "sync") {
    EXPECT_EQ(delay, 0);
  } else if (config.workers > 2 && config.model == "resnet20" && config.microbatches == 1) {
    EXPECT_GT(delay, 0) << "nothing asynchronous to see";
  }
  EXPECT_EQ(run(config).weights_hash, oracle(config, plan));
}

std::vector<PipelineCase> pipelines() {
  std::vector<PipelineCase> all;
  const std::string deep = "mlp:32-32-32-32-32-32-32-32-32";
  for (const std::string& model : {deep, std::string("vgg11"), std::string("resnet20")}) {
    for (const int workers : {2, 3, 4, 8}) {
      all.push_back({"layerpipe", model, workers});
      all.push_back({"layerpipe", model, workers, 4, "async"});
      all.push_back({"layerpipe", model, workers, 1, "async"});
      if (workers > 2 && model == "vgg11") continue;  // takes long to build
      for (const char* strategy : {"layerpipe-replicated", "gpipe", "1f1b", "zb-h1", "zb-h2"}) {
        all.push_back({strategy, model, workers});
      }
      for (const char* strategy : {"1f1b-interleaved", "zb-v"}) {
        if (workers < 8 || model == "resnet20") all.push_back({strategy, model, workers});
      }
      for (const char* strategy : {"layerpipe-replicated", "pipedream", "pipedream-replicated"}) {
        all.push_back({strategy, model, workers, 4, "async"});
      }
      all.push_back({"pipedream-2bw", model, workers, workers == 3 ? 4 : workers, "async"});
      all.push_back({"pipedream", model, workers, 1, "async"});
    }
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(All, EveryPipeline, testing::ValuesIn(pipelines()), pipeline_case_name);

TEST_F(PipelineOracle, WithoutReplicasEveryCutHasTheBitsOfOneWorker) {
  const std::string one =
      run(config_of({.strategy = "serial", .model = "resnet20", .workers = 1})).weights_hash;
  for (const int workers : {2, 5, 7}) {
    session::TrainConfig config =
        config_of({.strategy = "layerpipe", .model = "resnet20", .workers = workers});
    EXPECT_EQ(run(config).weights_hash, one) << workers;
  }
}

TEST_F(PipelineOracle, ReplicasAreEvaluatedWithTheStatisticsThatMoved) {
  const session::TrainResult one =
      run(config_of({.strategy = "serial", .model = "resnet20", .workers = 1}));
  const session::TrainConfig config =
      config_of({.strategy = "layerpipe-replicated", .model = "resnet20", .workers = 4});
  ASSERT_GT(std::ranges::max(sums_of(plan_of(config))), 1) << "no replicas to see";
  const session::TrainResult four = run(config);
  EXPECT_EQ(four.weights_hash, one.weights_hash);  // one microbatch each: the same sums
  EXPECT_EQ(four.test_loss, one.test_loss);
  EXPECT_EQ(four.test_accuracy, one.test_accuracy);
}

TEST_F(PipelineOracle, RebuiltWeightsAreNearTheStash) {
  session::TrainConfig config = config_of({.strategy = "layerpipe",
                                           .model = "resnet20",
                                           .workers = 8,
                                           .microbatches = 1,
                                           .pipeline = "async"});
  config.lr = 0.05;
  const session::TrainResult stash = run(config);
  config.weights = "rebuilt";
  const session::TrainResult rebuilt = run(config);
  EXPECT_NE(rebuilt.weights_hash, stash.weights_hash);
  EXPECT_NEAR(rebuilt.train_loss, stash.train_loss, 0.05 * stash.train_loss);
  EXPECT_EQ(run(config).weights_hash, rebuilt.weights_hash);
}

/// Updates that are missing on the worker when the block's forward and backward_data read.
std::vector<std::pair<int, int>> missing_of(const plan::Plan& plan) {
  std::vector<std::pair<int, int>> missing(plan.network.blocks.size());
  for (const plan::Program& program : plan.programs) {
    const auto& tasks = program.tasks;
    for (int made = 0; made < static_cast<int>(tasks.size()); ++made) {
      const plan::Task& maker = tasks[static_cast<std::size_t>(made)];
      const bool makes =
          plan::is<plan::Update>(maker) ||
          (plan::is<plan::Receive>(maker) && message_of(maker)->value.role == plan::Role::weights);
      for (int i = 0; makes && i < static_cast<int>(tasks.size()); ++i) {
        const plan::Task& task = tasks[static_cast<std::size_t>(i)];
        if (plan::block_of(task) != plan::block_of(maker)) continue;
        auto& [forth, back] = missing[static_cast<std::size_t>(plan::block_of(task))];
        const int newest = plan::newest_delay(task, i, maker, made);
        if (plan::is<plan::Forward>(task)) forth = newest;
        if (plan::is<plan::BackwardData>(task)) back = newest;
      }
    }
  }
  return missing;
}

TEST_F(PipelineOracle, PredictedWeightsAreTheFormula) {
  for (const char* model : {"mlp:32-32-32-32-32-32", "resnet20"}) {
    for (const int workers : {2, 4, 8}) {
      session::TrainConfig config = config_of({.strategy = "layerpipe",
                                               .model = model,
                                               .workers = workers,
                                               .microbatches = 1,
                                               .pipeline = "async"});
      config.weights = "predicted";
      const plan::Plan plan = plan_of(config);
      PlainSgd plain(config, {.delay = plan::staleness(plan), .missing = missing_of(plan)});
      EXPECT_EQ(run(config).weights_hash, plain.run()) << model << ", " << workers;
    }
  }
}

TEST_F(PipelineOracle, LearningRatesFollowTheStaleness) {
  session::TrainConfig config = config_of({.strategy = "layerpipe",
                                           .model = "resnet20",
                                           .workers = 4,
                                           .microbatches = 1,
                                           .pipeline = "async"});
  const std::string plain = run(config).weights_hash;
  config.stale_lr = 0.5;
  EXPECT_EQ(run(config).weights_hash, oracle(config, plan_of(config)));
  EXPECT_NE(run(config).weights_hash, plain);
}

TEST_F(PipelineOracle, TailsAndUnevenMicrobatchesHaveTheBitsOfOneWorker) {
  session::TrainConfig config =
      config_of({.strategy = "serial", .model = "mlp:32-32-32-32", .workers = 1});
  config.train_limit = 155;  // nine of 16 and one of 11
  const std::string one = run(config).weights_hash;
  config.workers = 3;
  for (const char* strategy :
       {"layerpipe", "gpipe", "1f1b", "1f1b-interleaved", "zb-h1", "zb-h2", "zb-v"}) {
    config.strategy = strategy;
    EXPECT_EQ(run(config).weights_hash, one) << strategy;
  }
}

TEST_F(PipelineOracle, ResumesToTheSameBits) {
  for (const char* pipeline : {"sync", "async"}) {
    for (const char* weights : {"stash", "rebuilt"}) {
      session::TrainConfig config = config_of({.strategy = "layerpipe",
                                               .model = "resnet20",
                                               .workers = 4,
                                               .microbatches = 2,
                                               .pipeline = pipeline});
      config.weights = weights;
      config.checkpoint_every = 3;  // the pipeline drains there, with and without an interruption
      const std::string whole = run(config).weights_hash;
      config.run_dir = (folder_ / (std::string(pipeline) + weights)).string();
      config.steps = 3;
      run(config);
      config.steps = 0;
      config.resume = true;
      EXPECT_EQ(run(config).weights_hash, whole) << pipeline << ", " << weights;
    }
  }
}

/// At the end of an epoch and within one.
TEST_F(PipelineOracle, ResumesAtTheRateOfAPlateau) {
  session::TrainConfig config = config_of({.strategy = "layerpipe",
                                           .model = "mlp:32-32",
                                           .workers = 2,
                                           .microbatches = 1,
                                           .pipeline = "async"});
  EXPECT_GT(std::ranges::max(plan::staleness(plan_of(config))), 0) << "nothing asynchronous to see";
  config.schedule = "plateau";
  config.plateau_patience = 0;
  config.plateau_factor = 0.5;
  config.lr = 0.3;
  config.epochs = 6;
  config.checkpoint_every = 5;
  struct Rates : session::TrainObserver {
    std::vector<double> rates{};
    void epoch(const session::EpochReport& report) override {
      rates.push_back(report.learning_rate);
    }
  } whole;
  const std::string hash = session::train(job_of(config, whole)).weights_hash;
  const int epochs = epochs_that_tell(whole.rates);
  ASSERT_GT(epochs, 0) << testing::PrintToString(whole.rates);
  const std::vector<double> left(whole.rates.begin() + epochs, whole.rates.end());
  for (const int more : {0, 5}) {  // of the ten steps of an epoch
    config.run_dir = (folder_ / std::to_string(more)).string();
    config.steps = 10 * epochs + more;
    config.resume = false;
    run(config);
    config.steps = 0;
    config.resume = true;
    Rates resumed;
    EXPECT_EQ(session::train(job_of(config, resumed)).weights_hash, hash) << more;
    EXPECT_EQ(resumed.rates, left) << more;
  }
}

TEST_F(PipelineOracle, AThrowingWorkerEndsTheJobWithItsNameTaskAndStep) {
  for (const char* pipeline : {"sync", "async"}) {
    const session::TrainConfig config = config_of({.strategy = "layerpipe",
                                                   .model = "resnet20",
                                                   .workers = 4,
                                                   .microbatches = 2,
                                                   .pipeline = pipeline});
    session::TrainObserver silent;
    session::TrainJob job = job_of(config, silent);
    job.hook = [](int worker, const plan::Task& task, std::int64_t minibatch) {
      if (worker == 2 && plan::is<plan::BackwardData>(task) && minibatch == 2) {
        throw std::runtime_error("out of order");
      }
    };
    try {
      session::train(job);
      ADD_FAILURE() << "nothing was thrown";
    } catch (const Failure& failure) {
      const std::string line = failure.what();
      EXPECT_EQ(line.find("worker 2 failed in backward_data of "), 0U) << line;
      EXPECT_NE(line.find("(minibatch 3, step "), std::string::npos) << line;
      EXPECT_NE(line.find("out of order"), std::string::npos) << line;
    }
  }
}

}  // namespace
}  // namespace plait::run
