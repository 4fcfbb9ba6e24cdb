// Synchronous data parallelism on threads against one worker, and against itself.
#include <gmock/gmock.h>

#include <atomic>
#include <thread>

#include "base/error.hpp"
#include "run/training.hpp"

namespace plait::run {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;

TEST_F(TrainTest, WorkersFollowTheLossCurveOfOne) {
  session::TrainConfig config = parallel(1);
  config.model = "lenet";
  config.steps = 100;
  const std::vector<double> alone = losses_of(config);
  ASSERT_EQ(alone.size(), 100U);
  for (const int workers : {2, 3, 4}) {
    config.workers = workers;
    const std::vector<double> together = losses_of(config);
    ASSERT_EQ(together.size(), alone.size());
    for (std::size_t i = 0; i < alone.size(); ++i) {
      EXPECT_NEAR(together[i], alone[i], 1e-4) << workers << " workers, step " << i + 1;
    }
  }
}

TEST_F(TrainTest, OneWorkerOfDataParallelIsSerial) {
  session::TrainConfig config = small();
  const std::string serial = run(config).weights_hash;
  config.strategy = "data_parallel";
  config.workers = 1;
  EXPECT_EQ(run(config).weights_hash, serial);
}

TEST_F(TrainTest, EqualPlansGiveEqualBits) {
  for (const int workers : {2, 3, 4}) {
    for (const char* wire : {"fp32", "bf16"}) {
      session::TrainConfig config = parallel(workers);
      config.wire = wire;
      config.bucket_mb = 0.01;  // many buckets
      EXPECT_EQ(run(config).weights_hash, run(config).weights_hash) << workers << wire;
    }
  }
}

TEST_F(TrainTest, BucketsDoNotChangeBits) {
  session::TrainConfig config = parallel(3);
  const std::string one = run(config).weights_hash;
  config.bucket_mb = 0.001;
  EXPECT_EQ(run(config).weights_hash, one);
}

/// The sum of the shards in rank order does not depend on the number of workers for BatchNorm-free
/// networks only up to rounding; with uneven shares every sample must still count once.
TEST_F(TrainTest, UnevenSharesAndTailsCountEverySampleOnce) {
  session::TrainConfig config = parallel(1);
  config.model = "lenet";
  config.batch = 7;
  config.train_limit = 100;  // fourteen of 7 and one of 2: with 4 workers some get nothing
  config.epochs = 2;
  const std::vector<double> alone = losses_of(config);
  for (const int workers : {2, 3, 4, 7}) {
    config.workers = workers;
    const std::vector<double> together = losses_of(config);
    ASSERT_EQ(together.size(), alone.size());
    for (std::size_t i = 0; i < alone.size(); ++i) {
      EXPECT_NEAR(together[i], alone[i], 2e-4) << workers << " workers, step " << i + 1;
    }
  }
}

TEST_F(TrainTest, RunningStatisticsAreMergedBySamples) {
  session::TrainConfig config = parallel(2);
  config.model = "resnet20";
  config.data = "glyphs";
  config.train_limit = 40;
  config.test_limit = 20;
  config.batch = 20;
  config.epochs = 1;
  config.checkpoint_every = 0;
  config.lr = 0;  // weights stand still: only the statistics move
  const double two = run(config).test_loss;
  config.workers = 1;
  const double one = run(config).test_loss;
  // Statistics of halves, averaged, are close to those of the whole, not equal: the means of the
  // halves differ from each other.
  EXPECT_NEAR(two, one, 0.05 * one);
}

TEST_F(TrainTest, CheckpointOfFourResumesOnAnyNumber) {
  session::TrainConfig whole_config = parallel(4);
  const session::TrainResult whole = run(whole_config);
  session::TrainConfig config = parallel(4);
  config.run_dir = (folder_ / "four").string();
  config.steps = 13;
  run(config);
  config.steps = 0;
  config.resume = true;
  for (const int workers : {1, 2, 3, 4}) {
    const auto copy = folder_ / std::to_string(workers);
    std::filesystem::copy(folder_ / "four", copy, std::filesystem::copy_options::recursive);
    config.run_dir = copy.string();
    config.workers = workers;
    const session::TrainResult resumed = run(config);
    EXPECT_EQ(resumed.steps, 30);
    EXPECT_NEAR(resumed.train_loss, whole.train_loss, 1e-4);
    if (workers == 4) {
      EXPECT_EQ(resumed.weights_hash, whole.weights_hash);
      EXPECT_EQ(resumed.train_loss, whole.train_loss);
    }
  }
}

TEST_F(TrainTest, ClippingSeesTheWholeGradient) {
  session::TrainConfig config = parallel(1);
  config.clip_norm = 0.1;
  const std::vector<double> alone = losses_of(config);
  config.workers = 4;
  const std::vector<double> together = losses_of(config);
  for (std::size_t i = 0; i < alone.size(); ++i) EXPECT_NEAR(together[i], alone[i], 1e-4);
}

TEST_F(TrainTest, BytesAndMessagesAreThoseOfThePlan) {
  session::TrainConfig config = parallel(2);
  config.steps = 5;
  config.model = "mlp:256";  // every size a multiple of 16: nothing is padded but the last layer
  const session::TrainResult result = run(config);
  std::int64_t planned = 0;
  for (int worker = 0; worker < 2; ++worker) {
    for (const plan::Task& task : result.plan.programs[static_cast<std::size_t>(worker)].tasks) {
      planned += plan::wire_bytes(result.plan, worker, task);
    }
  }
  EXPECT_GE(result.bytes_sent, 5 * planned);
  EXPECT_LE(result.bytes_sent, 5 * planned * 101 / 100);
  EXPECT_GT(result.messages_sent, 0);
}

/// An exception in a task ends the job with one line that names everything.
TEST_F(TrainTest, ThrowingWorkerIsNamedWithTaskMinibatchAndStep) {
  for (const int workers : {1, 2, 4}) {
    for (const plan::TaskKind kind :
         {plan::TaskKind::load, plan::TaskKind::forward, plan::TaskKind::backward_weights,
          plan::TaskKind::reduce_sum, plan::TaskKind::update}) {
      if (workers == 1 && kind == plan::TaskKind::reduce_sum) continue;
      session::TrainObserver silent;
      session::TrainJob job = job_of(parallel(workers), silent);
      job.hook = [&](int worker, const plan::Task& task, std::int64_t minibatch) {
        if (worker == workers - 1 && plan::kind_of(task) == kind && minibatch == 6) {
          throw std::runtime_error("boom");
        }
      };
      EXPECT_THAT(
          [&] { session::train(job); },
          ThrowsMessage<Failure>(AllOf(HasSubstr("worker " + std::to_string(workers - 1)),
                                       HasSubstr(std::string(name_of(kind))),
                                       HasSubstr("minibatch 7, step 7"), HasSubstr("boom"))));
    }
  }
}

TEST_F(TrainTest, FailureKeepsTheLastCheckpointAndResumesToTheSameBits) {
  const std::string whole = run(parallel(3)).weights_hash;
  session::TrainConfig config = parallel(3);
  config.run_dir = (folder_ / "failed").string();
  session::TrainObserver silent;
  session::TrainJob job = job_of(config, silent);
  job.hook = [](int worker, const plan::Task&, std::int64_t minibatch) {
    if (worker == 1 && minibatch == 21) throw std::runtime_error("boom");
  };
  EXPECT_THROW(session::train(job), Failure);
  config.resume = true;
  EXPECT_EQ(run(config).weights_hash, whole);
}

TEST_F(TrainTest, StallSaysWhatEverybodyWaitsFor) {
  session::TrainConfig config = parallel(2);
  config.stall_seconds = 2;
  struct Listener : session::TrainObserver {
    std::string line;
    std::atomic<bool> told = false;
    void fatal(const std::string& text) override {
      line = text;
      told = true;
    }
  } listener;
  session::TrainJob job = job_of(config, listener);
  job.hook = [&](int worker, const plan::Task& task, std::int64_t minibatch) {
    while (worker == 1 && plan::is<plan::Loss>(task) && minibatch == 3 && !listener.told) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  };
  EXPECT_THROW(session::train(job), Failure);
  EXPECT_THAT(listener.line,
              AllOf(HasSubstr("no progress for 2 s"), HasSubstr("worker 0 waits"),
                    HasSubstr("worker 1 works in loss"), HasSubstr("minibatch 4, step 4")));
}

TEST_F(TrainTest, NonFiniteOnOneWorkerStopsAll) {
  session::TrainConfig config = parallel(3);
  config.lr = 1e30;
  EXPECT_THAT([&] { run(config); },
              ThrowsMessage<UserError>(AllOf(HasSubstr("step "), HasSubstr("`lr`"))));
}

TEST_F(TrainTest, SlowLinkBetweenNodesChangesNoBits) {
  session::TrainConfig config = parallel(4);
  config.steps = 10;
  const std::string fast = run(config).weights_hash;
  config.nodes = 2;
  config.link_between_nodes = "200Mbit/s,1ms";
  const session::TrainResult slow = run(config);
  EXPECT_EQ(slow.weights_hash, fast);
  EXPECT_EQ(slow.plan.machine.nodes, 2);
}

TEST_F(TrainTest, MoreWorkersThanSamplesAreRefused) {
  session::TrainConfig config = parallel(33);
  EXPECT_THAT([&] { run(config); }, ThrowsMessage<UserError>(HasSubstr("`workers` 33")));
}

}  // namespace
}  // namespace plait::run
