// The training loop: equal bits, resuming, early stop, and what it refuses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/error.hpp"
#include "checkpoint/store.hpp"
#include "run/training.hpp"
#include "session/eval.hpp"

namespace plait::run {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::ThrowsMessage;

TEST_F(TrainTest, EqualSeedsGiveEqualBits) {
  const session::TrainResult first = run(small());
  EXPECT_EQ(first.weights_hash, run(small()).weights_hash);
  EXPECT_EQ(first.steps, 30);
  session::TrainConfig other = small();
  other.seed = 2;
  EXPECT_NE(first.weights_hash, run(other).weights_hash);
}

TEST_F(TrainTest, ResumedRunHasTheBitsOfTheWholeRun) {
  const session::TrainResult whole = run(small());
  for (int stop : {1, 4, 10, 13, 29}) {
    session::TrainConfig config = small();
    config.run_dir = (folder_ / std::to_string(stop)).string();
    config.steps = stop;
    run(config);
    config.steps = 0;
    config.resume = true;
    const session::TrainResult resumed = run(config);
    EXPECT_EQ(resumed.weights_hash, whole.weights_hash) << "stopped after " << stop;
    EXPECT_EQ(resumed.train_loss, whole.train_loss);
    EXPECT_EQ(resumed.test_accuracy, whole.test_accuracy);
  }
}

TEST_F(TrainTest, AdamResumesToo) {
  session::TrainConfig config = small();
  config.optimizer = "adam";
  config.lr = 0.001;
  config.schedule = "cosine";
  config.warmup_steps = 5;
  config.clip_norm = 1;
  config.label_smoothing = 0.1;
  const session::TrainResult whole = run(config);
  // An interruption, not --steps: the cosine's end must stay the same.
  config.run_dir = (folder_ / "adam").string();
  std::atomic<bool> interrupt = false;
  struct StopAt : session::TrainObserver {
    std::atomic<bool>* flag = nullptr;
    void step(const session::StepReport& report) override {
      if (report.step == 17) flag->store(true);
    }
  } observer;
  observer.flag = &interrupt;
  session::TrainJob job = job_of(config, observer);
  job.interrupt = &interrupt;
  EXPECT_TRUE(session::train(job).interrupted);
  config.resume = true;
  EXPECT_EQ(run(config).weights_hash, whole.weights_hash);
}

/// With a rate at which the test loss soon stops falling.
TEST_F(TrainTest, PlateauDropsTheRateAndResumes) {
  session::TrainConfig config = small();
  config.schedule = "plateau";
  config.plateau_patience = 0;
  config.plateau_factor = 0.25;
  config.lr = 0.5;
  config.epochs = 6;
  config.workers = 2;
  config.strategy = "data_parallel";
  struct Rates : session::TrainObserver {
    std::vector<double> rates{}, losses{};
    int notes = 0;
    void epoch(const session::EpochReport& report) override {
      rates.push_back(report.learning_rate);
      losses.push_back(report.test_loss);
    }
    void note(const std::string& line) override {
      if (line.find("learning rate 0.") != std::string::npos) ++notes;
    }
  } observer;
  session::TrainJob job = job_of(config, observer);
  const session::TrainResult whole = session::train(job);
  ASSERT_EQ(observer.rates.size(), 6U);
  double wanted = config.lr;
  int drops = 0;
  for (std::size_t i = 0; i < observer.rates.size(); ++i) {
    EXPECT_DOUBLE_EQ(observer.rates[i], wanted) << i;
    const auto best = std::min_element(observer.losses.begin(),
                                       observer.losses.begin() + static_cast<std::ptrdiff_t>(i));
    const bool drop = i > 0 && !(observer.losses[i] < *best * (1 - 1e-4));
    if (drop) wanted *= config.plateau_factor;
    drops += drop && i + 1 < observer.rates.size() ? 1 : 0;
  }
  EXPECT_GT(drops, 0);
  EXPECT_EQ(observer.notes, drops);
  const std::int64_t per_epoch = whole.steps / 6;
  for (const std::int64_t stop : {2 * per_epoch, 4 * per_epoch + 1}) {
    config.run_dir = (folder_ / std::to_string(stop)).string();
    config.steps = static_cast<int>(stop);
    config.resume = false;
    run(config);
    config.steps = 0;
    config.resume = true;
    EXPECT_EQ(run(config).weights_hash, whole.weights_hash) << stop;
  }
}

TEST_F(TrainTest, ClippedMicrobatchesAddUpToTheWholeMinibatch) {
  session::TrainConfig config = small();
  config.model = "lenet";
  config.train_limit = 192;
  config.test_limit = 64;
  config.epochs = 4;
  config.clip_norm = 0.1;
  config.threads = 1;
  const double whole = run(config).train_loss;
  for (const int microbatches : {2, 4, 8}) {
    config.microbatches = microbatches;
    EXPECT_NEAR(run(config).train_loss, whole, 1e-6) << microbatches;
  }
}

TEST_F(TrainTest, ClippedMicrobatchesResumeToo) {
  session::TrainConfig config = small();
  config.model = "lenet";
  config.train_limit = 96;
  config.test_limit = 32;
  config.clip_norm = 0.1;
  config.microbatches = 2;
  const session::TrainResult whole = run(config);
  config.run_dir = (folder_ / "clip").string();
  config.steps = 4;
  run(config);
  config.steps = 0;
  config.resume = true;
  EXPECT_EQ(run(config).weights_hash, whole.weights_hash);
}

TEST_F(TrainTest, NonFiniteLossNamesBlockAndStepAndKeepsTheCheckpoint) {
  session::TrainConfig config = small();
  config.run_dir = (folder_ / "nan").string();
  config.lr = 1e-3;
  config.steps = 4;
  run(config);
  config.steps = 0;
  config.resume = true;
  config.lr = 1e30;
  EXPECT_THAT([&] { run(config); },
              ThrowsMessage<UserError>(AllOf(HasSubstr("step "), HasSubstr("step-000000004"))));
  config.lr = 1e-3;
  EXPECT_EQ(run(config).steps, 30);
}

TEST_F(TrainTest, StopsEarly) {
  session::TrainConfig config = small();
  config.lr = 0;  // nothing improves
  config.epochs = 50;
  config.early_stop = 2;
  EXPECT_EQ(run(config).epochs, 3);
}

TEST_F(TrainTest, EvaluatesTheCheckpointOfARun) {
  session::TrainConfig config = small();
  config.run_dir = (folder_ / "eval").string();
  const session::TrainResult trained = run(config);
  const checkpoint::CheckpointStore store(fs::path(config.run_dir) / "checkpoints");
  ASSERT_TRUE(store.latest());
  const fs::path latest = store.path_of(store.latest()->folder) / "weights.safetensors";
  EXPECT_EQ(session::evaluate_weights(config, checkpoint::read_safetensors(latest).tensors,
                                      latest.string())
                .accuracy,
            trained.test_accuracy);
  EXPECT_TRUE(fs::exists(session::weights_of_run(config.run_dir)));
}

TEST_F(TrainTest, InitContinuesFromWeightsAndRefusesOthers) {
  session::TrainConfig config = small();
  config.run_dir = (folder_ / "first").string();
  config.lr = 0;
  const session::TrainResult first = run(config);
  session::TrainConfig second = small();
  second.init = session::weights_of_run(config.run_dir).string();
  second.lr = 0;
  second.seed = 99;
  EXPECT_EQ(run(second).weights_hash, first.weights_hash);
  second.model = "mlp:33";
  EXPECT_THAT([&] { run(second); }, ThrowsMessage<UserError>(HasSubstr("but the model needs")));
  second.model = "mlp:32-10";
  EXPECT_THAT([&] { run(second); }, ThrowsMessage<UserError>(HasSubstr("is missing")));
}

TEST_F(TrainTest, RefusesAUsedFolderWithoutResume) {
  session::TrainConfig config = small();
  config.run_dir = (folder_ / "used").string();
  run(config);
  EXPECT_THAT([&] { run(config); }, ThrowsMessage<UserError>(HasSubstr("`resume`")));
}

TEST_F(TrainTest, RegressionWithMeanSquaredError) {
  session::TrainConfig config = small();
  config.loss = "mse";  // class labels become one-hot rows
  config.lr = 0.01;
  const session::TrainResult result = run(config);
  EXPECT_LT(result.train_loss, 0.2);
  EXPECT_GE(*result.test_accuracy, 0.1);
}

TEST_F(TrainTest, ResumeRefusesAChangedModelFile) {
  const fs::path model = folder_ / "tiny.toml";
  const auto write = [&](const std::string& activation) {
    std::ofstream(model)
        << "[[block]]\nlayers = [{type = \"flatten\"}, {type = \"linear\", out = 8}, "
        << "{type = \"" << activation << "\"}, {type = \"linear\", out = \"classes\"}]\n";
  };
  write("relu");
  session::TrainConfig config = small();
  config.model = model.string();
  config.run_dir = (folder_ / "changed").string();
  config.steps = 5;
  run(config);
  write("tanh");
  config.steps = 0;
  config.resume = true;
  EXPECT_THAT([&] { run(config); }, ThrowsMessage<UserError>(HasSubstr("another model")));
  write("relu");
  EXPECT_EQ(run(config).steps, 30);
}

TEST_F(TrainTest, MetricsFollowAResume) {
  session::TrainConfig config = small();
  config.run_dir = (folder_ / "metrics").string();
  config.steps = 25;  // two epochs and a half
  run(config);
  std::ofstream(fs::path(config.run_dir) / "metrics.jsonl", std::ios::app)
      << "{\"step\": \"x\"}\nnoise\n";
  config.steps = 0;
  config.resume = true;
  run(config);
  std::ifstream file(fs::path(config.run_dir) / "metrics.jsonl");
  int lines = 0;
  for (std::string line; std::getline(file, line);) ++lines;
  EXPECT_EQ(lines, 3);
}

TEST_F(TrainTest, LastMinibatchOfAnEpochMayBeSmaller) {
  session::TrainConfig config = small();
  config.model = "lenet";
  config.train_limit = 330;  // ten of 32 and one of 10
  const session::TrainResult whole = run(config);
  EXPECT_EQ(whole.steps, 33);
  config.run_dir = (folder_ / "tail").string();
  config.steps = 22;
  run(config);
  config.steps = 0;
  config.resume = true;
  EXPECT_EQ(run(config).weights_hash, whole.weights_hash);
}

TEST_F(TrainTest, MicrobatchesGiveTheGradientOfTheWholeBatch) {
  session::TrainConfig config = small();
  config.threads = 1;
  config.steps = 20;
  const std::vector<double> whole = losses_of(config);
  for (const int pieces : {2, 3, 5}) {
    config.microbatches = pieces;
    const std::vector<double> cut = losses_of(config);
    ASSERT_EQ(cut.size(), whole.size());
    for (std::size_t i = 0; i < whole.size(); ++i) EXPECT_NEAR(cut[i], whole[i], 1e-4) << i;
  }
}

TEST_F(TrainTest, TraceHoldsTheLastStepsAndSharesAddUp) {
  session::TrainConfig config = small();
  config.trace_steps = 5;
  const session::TrainResult result = run(config);
  ASSERT_EQ(result.trace.workers.size(), 1U);
  const auto events = result.trace.workers[0].events();
  ASSERT_FALSE(events.empty());
  EXPECT_EQ(events.front().step, 25);
  EXPECT_EQ(events.back().step, 29);
  for (std::size_t i = 1; i < events.size(); ++i) EXPECT_GE(events[i].begin, events[i - 1].end);
  ASSERT_EQ(result.shares.size(), 1U);
  const trace::Shares& one = result.shares[0];
  EXPECT_GT(one.busy, 0);
  EXPECT_LE(one.busy + one.communication + one.wait, 1 + 1e-9);
}

}  // namespace
}  // namespace plait::run
