// Networks cut by rows, on threads, against the same network on one worker and against themselves.
#include <gmock/gmock.h>

#include <cmath>
#include <map>

#include "base/error.hpp"
#include "checkpoint/store.hpp"
#include "partition/measure.hpp"
#include "run/sparse_files.hpp"
#include "run/training.hpp"
#include "session/eval.hpp"
#include "session/setup.hpp"
#include "strategy/sparse_rows/sparse_rows.hpp"

namespace plait::run {
namespace {

using testing::HasSubstr;

/// Of the largest number of a tensor: the sums of a row are taken in another order.
constexpr double kTolerance = 1e-5;

strategy::RowPartitioner partitioner(partition::PartitionMethod method) {
  return [method](const std::vector<std::shared_ptr<const tensor::SparsePattern>>& layers,
                  int workers) {
    return partition::make_partition(layers, {.parts = workers, .method = method}).owners;
  };
}

session::TrainJob job_with(const session::TrainConfig& config, session::TrainObserver& observer,
                           partition::PartitionMethod method) {
  return job_with_plan(
      config, observer,
      [config, method](const graph::ModelSpec& model, const plan::Machine& machine) {
        const plan::Network network = plan::make_network(model);
        return strategy::make_plan(
            config.strategy,
            {.network = network,
             .machine = machine,
             .batch = config.batch,
             .optimizer_states = make_optimizer(optimizer_spec(config))->state_count(),
             .partition = partitioner(method)});
      });
}

session::TrainResult run_cut(
    const session::TrainConfig& config,
    partition::PartitionMethod method = partition::PartitionMethod::merged) {
  session::TrainObserver silent;
  return session::train(job_with(config, silent, method));
}

void expect_close(const std::vector<checkpoint::NamedTensor>& actual,
                  const std::vector<checkpoint::NamedTensor>& expected, double tolerance) {
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t t = 0; t < actual.size(); ++t) {
    ASSERT_EQ(actual[t].name, expected[t].name);
    ASSERT_EQ(actual[t].tensor.desc(), expected[t].tensor.desc());
    if (expected[t].tensor.desc().dtype != tensor::DType::f32) {
      EXPECT_TRUE(std::ranges::equal(actual[t].tensor.as<std::int32_t>(),
                                     expected[t].tensor.as<std::int32_t>()));
      continue;
    }
    const auto a = actual[t].tensor.floats();
    const auto b = expected[t].tensor.floats();
    double largest = 0;
    double worst = 0;
    for (std::size_t i = 0; i < b.size(); ++i) {
      largest = std::max(largest, std::abs(static_cast<double>(b[i])));
      worst = std::max(worst, std::abs(static_cast<double>(a[i]) - b[i]));
      ASSERT_TRUE(std::isfinite(a[i])) << actual[t].name;
    }
    EXPECT_LE(worst, tolerance * largest) << actual[t].name;
  }
}

class SparseRowsRun : public TrainTest {
 protected:
  /// 7 steps per epoch, the last one of 8 samples; 8 steps in all.
  session::TrainConfig sparse(const std::string& model, int workers) {
    session::TrainConfig config = small();
    config.model = model;
    config.strategy = workers > 1 ? "sparse_rows" : "serial";
    config.workers = workers;
    config.threads = 1;
    config.train_limit = 200;
    config.steps = 8;
    config.epochs = 2;
    config.lr = 0.02;
    config.checkpoint_every = 0;
    config.run_dir = (folder_ / fmt::format("run{}", ++runs_)).string();
    return config;
  }
  static checkpoint::Checkpoint latest(const std::string& run_dir) {
    const checkpoint::CheckpointStore store(std::filesystem::path(run_dir) / "checkpoints");
    return store.load(store.latest().value().folder);
  }
  void expect_equal(const session::TrainConfig& cut, const session::TrainConfig& whole,
                    partition::PartitionMethod method) {
    const session::TrainResult result = run_cut(cut, method);
    const checkpoint::Checkpoint a = latest(cut.run_dir);
    const checkpoint::Checkpoint b = latest(whole.run_dir);
    EXPECT_EQ(result.steps, b.state.step);
    expect_close(a.weights, b.weights, kTolerance);
    expect_close(a.optimizer, b.optimizer, kTolerance);
  }

 private:
  int runs_ = 0;
};

TEST_F(SparseRowsRun, WorkersTrainTheNetworkOfOne) {
  for (const char* activation : {"relu", "tanh", "clip", "gelu", "leaky_relu", "silu"}) {
    const std::string model = write_sparse_model(folder_, activation);
    const session::TrainConfig whole = sparse(model, 1);
    const session::TrainResult alone = run(whole);
    for (const int workers : {2, 3, 4, 8}) {
      SCOPED_TRACE(fmt::format("{} on {} workers", activation, workers));
      expect_equal(sparse(model, workers), whole, partition::PartitionMethod::merged);
    }
    EXPECT_NE(alone.train_loss, 0);
  }
}

/// The input is an image, and what the second block flattens is flat already.
TEST_F(SparseRowsRun, FlattenedTensorsHaveTheirGradients) {
  const std::string model = (folder_ / "flat.toml").string();
  write_text(model, R"(
[[block]]
name = "a"
layers = [{type = "flatten"}, {type = "linear", out = 30}, {type = "relu"}]
[[block]]
name = "b"
layers = [{type = "flatten"}, {type = "linear", out = 20}, {type = "tanh"}]
[[block]]
layers = [{type = "linear", out = "classes"}]
)");
  const session::TrainConfig whole = sparse(model, 1);
  run(whole);
  for (const int workers : {2, 3}) {
    SCOPED_TRACE(workers);
    expect_equal(sparse(model, workers), whole, partition::PartitionMethod::merged);
  }
}

TEST_F(SparseRowsRun, TrainsARadixNet) {
  const session::TrainConfig whole = sparse("radixnet:64x6", 1);
  run(whole);
  for (const int workers : {2, 3, 4, 8}) {
    SCOPED_TRACE(workers);
    expect_equal(sparse("radixnet:64x6", workers), whole, partition::PartitionMethod::merged);
  }
}

TEST_F(SparseRowsRun, AnyPartitionWillDo) {
  const std::string model = write_sparse_model(folder_, "tanh");
  const session::TrainConfig whole = sparse(model, 1);
  run(whole);
  for (const partition::PartitionMethod method :
       {partition::PartitionMethod::block, partition::PartitionMethod::random}) {
    expect_equal(sparse(model, 3), whole, method);
  }
}

TEST_F(SparseRowsRun, OneWorkerIsSerial) {
  const session::TrainConfig whole = sparse("radixnet:64x4", 1);
  run(whole);
  session::TrainConfig alone = sparse("radixnet:64x4", 1);
  alone.strategy = "sparse_rows";
  expect_equal(alone, whole, partition::PartitionMethod::merged);
}

TEST_F(SparseRowsRun, EqualPlansGiveEqualBits) {
  const std::string model = write_sparse_model(folder_, "relu");
  for (const int workers : {2, 3, 8}) {
    session::TrainConfig config = sparse(model, workers);
    config.run_dir = "none";
    EXPECT_EQ(run_cut(config).weights_hash, run_cut(config).weights_hash) << workers;
  }
}

TEST_F(SparseRowsRun, ThreadsOfAWorkerDoNotChangeBits) {
  const std::string model = write_sparse_model(folder_, "relu");
  session::TrainConfig config = sparse(model, 2);
  config.run_dir = "none";
  const std::string one = run_cut(config).weights_hash;
  config.threads = kThreads;
  EXPECT_EQ(run_cut(config).weights_hash, one);
}

TEST_F(SparseRowsRun, ResumesWithTheSameBits) {
  const std::string model = write_sparse_model(folder_, "relu");
  for (const int workers : {2, 3}) {
    session::TrainConfig config = sparse(model, workers);
    config.steps = 11;
    const std::string uninterrupted = run_cut(config).weights_hash;
    for (const int pause : {3, 7, 9}) {
      session::TrainConfig broken = sparse(model, workers);
      broken.steps = pause;
      run_cut(broken);
      broken.steps = 11;
      broken.resume = true;
      EXPECT_EQ(run_cut(broken).weights_hash, uninterrupted) << workers << " " << pause;
    }
  }
}

TEST_F(SparseRowsRun, CheckpointsGoFromWorkersToOneAndBack) {
  const std::string model = write_sparse_model(folder_, "tanh");
  session::TrainConfig whole = sparse(model, 1);
  whole.steps = 12;
  run(whole);
  for (const int first : {1, 3}) {
    session::TrainConfig half = sparse(model, first);
    half.steps = 6;
    run_cut(half);
    half.steps = 12;
    half.resume = true;
    half.workers = 4 - first;
    half.strategy = first == 1 ? "sparse_rows" : "serial";
    run_cut(half);
    const checkpoint::Checkpoint a = latest(half.run_dir);
    const checkpoint::Checkpoint b = latest(whole.run_dir);
    expect_close(a.weights, b.weights, kTolerance);
    expect_close(a.optimizer, b.optimizer, kTolerance);
  }
}

TEST_F(SparseRowsRun, BeginsFromWeightsOfOneWorkerAndLoadsInEval) {
  const std::string model = write_sparse_model(folder_, "relu");
  const session::TrainConfig first = sparse(model, 1);
  run(first);
  const std::string init = session::weights_of_run(first.run_dir).string();
  session::TrainConfig whole = sparse(model, 1);
  whole.init = init;
  run(whole);
  session::TrainConfig cut = sparse(model, 3);
  cut.init = init;
  expect_equal(cut, whole, partition::PartitionMethod::merged);
  const Evaluation here = evaluate_run(cut);
  const Evaluation there = evaluate_run(whole);
  EXPECT_NEAR(here.loss, there.loss, 1e-5 * there.loss);
}

/// Untrained weights: a run of no steps at all would hide what the workers begin with.
TEST_F(SparseRowsRun, BeginsWithTheWeightsOfOneWorker) {
  const std::string model = write_sparse_model(folder_, "relu");
  const auto first_loss = [&](int workers) {
    session::TrainConfig config = sparse(model, workers);
    config.run_dir = "none";
    config.steps = 1;
    LossCurve curve;
    session::train(job_with(config, curve, partition::PartitionMethod::merged));
    return curve.losses.at(0);
  };
  const double alone = first_loss(1);
  for (const int workers : {2, 3, 8}) EXPECT_NEAR(first_loss(workers), alone, 1e-6 * alone);
}

std::int64_t planned_bytes(const plan::Plan& plan) {
  std::int64_t bytes = 0;
  for (int worker = 0; worker < plan.workers(); ++worker) {
    for (const plan::Task& task : plan.programs[static_cast<std::size_t>(worker)].tasks) {
      bytes += plan::wire_bytes(plan, worker, task);
    }
  }
  return bytes;
}

/// Of the cut layers, and of the head, whose input is worker 0's in the end.
std::int64_t words_of(const graph::ModelSpec& model, int workers) {
  const auto layers = strategy::row_patterns(plan::make_network(model));
  const partition::Partition partition = partition::make_partition(layers, {.parts = workers});
  const auto elsewhere = std::ranges::count_if(partition.owners.back(), [](int o) { return o; });
  return partition::measure_partition(layers, partition).volume_words + 2 * elsewhere;
}

TEST_F(SparseRowsRun, SendsTheWordsOfThePartition) {
  for (const std::string& model :
       {write_sparse_model(folder_, "tanh"), std::string("radixnet:64x6")}) {
    for (const int workers : {2, 3, 8}) {
      session::TrainConfig config = sparse(model, workers);
      config.run_dir = "none";
      config.batch = 64;
      config.train_limit = 256;
      config.steps = 4;
      const session::TrainResult result = run_cut(config);
      const std::int64_t words = words_of(make_setup(config).model, workers);
      EXPECT_GT(words, 0);
      EXPECT_EQ(planned_bytes(result.plan), words * 64 * 4);
      EXPECT_EQ(result.bytes_sent, 4 * words * 64 * 4) << model << " on " << workers;
      std::int64_t traced = 0;
      std::map<std::int64_t, std::int64_t> by_step;
      for (const trace::WorkerTrace& worker : result.trace.workers) {
        for (const trace::Event& event : worker.events()) by_step[event.step] += event.bytes;
        traced += worker.totals().bytes;
      }
      EXPECT_EQ(traced, result.bytes_sent);
      for (const auto& [step, bytes] : by_step) EXPECT_EQ(bytes, words * 64 * 4) << step;
    }
  }
}

TEST_F(SparseRowsRun, AFailingWorkerNamesItselfAndItsTask) {
  session::TrainConfig config = sparse("radixnet:64x4", 3);
  config.run_dir = "none";
  session::TrainObserver silent;
  session::TrainJob job = job_with(config, silent, partition::PartitionMethod::merged);
  job.hook = [](int worker, const plan::Task& task, std::int64_t minibatch) {
    const plan::Message* message = message_of(task);
    if (worker == 1 && minibatch == 2 && message != nullptr) throw std::runtime_error("boom");
  };
  EXPECT_THAT([&] { session::train(job); },
              testing::ThrowsMessage<Failure>(
                  testing::AllOf(HasSubstr("worker 1 failed in send"), HasSubstr("boom"))));
}

}  // namespace
}  // namespace plait::run
