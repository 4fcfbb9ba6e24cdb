// parareal against its formulas in a plain loop, and against itself on other workers: bit for bit.
#include <gmock/gmock.h>

#include "run/noise_images.hpp"
#include "run/plain_parareal.hpp"
#include "run/solo_worker.hpp"
#include "run/training.hpp"
#include "strategy/random_models.hpp"

namespace plait::run {
namespace {

using testing::IsEmpty;

struct Torn {
  std::string model;
  int pieces = 2;
  strategy::CoarseKind coarse = strategy::CoarseKind::block;
};

std::ostream& operator<<(std::ostream& out, const Torn& one) {
  return out << one.model << " in " << one.pieces << ", " << name_of(one.coarse);
}

data::Batch random_batch(const tensor::Shape& sample, std::int64_t size, std::uint64_t seed) {
  data::Batch batch{.images = random_tensor(sample.with_front(size), seed),
                    .targets = tensor::Tensor(tensor::Shape{size})};
  Rng rng(seed, Purpose::test, 1);
  for (float& target : batch.targets.floats()) target = static_cast<float>(rng.below(10));
  return batch;
}

graph::ModelSpec model_of(const std::string& name) {
  const bool gray = name == "lenet" || name.starts_with("mlp");
  return graph::make_model(name, gray ? tensor::Shape{1, 28, 28} : tensor::Shape{3, 32, 32}, 10);
}

constexpr std::int64_t kBatch = 4;

SoloWorker engine_of(const std::string& strategy, const plan::Network& network,
                     const strategy::TearRequest& tear) {
  const plan::Machine alone;
  return SoloWorker(
      strategy::make_plan(strategy,
                          {.network = network, .machine = alone, .batch = kBatch, .tear = tear}),
      {.optimizer = {.kind = "sgd", .momentum = 0.9}});
}

struct Steps {
  std::vector<checkpoint::NamedTensor> begin;
  std::vector<checkpoint::NamedTensor> end;
};

/// Several steps of the engine and of the plain loop, from the same random weights.
Steps expect_formulas(const graph::ModelSpec& model, const Torn& one) {
  const plan::Network network = plan::make_network(model);
  SoloWorker engine = engine_of("parareal", network, {.pieces = one.pieces, .coarse = one.coarse});
  std::vector<std::string> names;
  for (const checkpoint::NamedTensor& weight : engine.parameters().export_weights()) {
    names.push_back(weight.name);
  }
  const auto tearing = strategy::tearing_of(strategy::TornChain(network), names);
  EXPECT_TRUE(tearing);
  EXPECT_EQ(tearing->pieces(), one.pieces);
  PlainParareal plain(model, *tearing, kBatch);
  const std::vector<checkpoint::NamedTensor> begin = random_weights(engine.plan().network);
  engine.parameters().import_weights(begin, "test");
  plain.set_weights(begin);
  EXPECT_THAT(differing(begin, plain.weights()), IsEmpty());
  for (std::uint64_t step = 0; step < 4; ++step) {
    const data::Batch batch = random_batch(model.input, kBatch, step);
    const double loss = engine.step(batch, 0.01).sum;
    EXPECT_EQ(loss, plain.step(batch, 0.01)) << "step " << step;
    EXPECT_TRUE(std::isfinite(loss));
  }
  std::vector<checkpoint::NamedTensor> end = engine.parameters().export_weights();
  EXPECT_EQ(end.size(), plain.weights().size());
  EXPECT_THAT(differing(end, plain.weights()), IsEmpty());
  return {begin, std::move(end)};
}

void expect_oracle(const Torn& one) {
  SCOPED_TRACE(testing::PrintToString(one));
  const Steps steps = expect_formulas(model_of(one.model), one);
  // everything has learned, the coarse parts too
  EXPECT_EQ(differing(steps.begin, steps.end).size(), steps.begin.size());
}

/// As many sweeps as pieces train the serial network.
void expect_serial_twin(const graph::ModelSpec& model, int pieces) {
  const plan::Network network = plan::make_network(model);
  SoloWorker torn = engine_of("parareal", network, {.pieces = pieces, .sweeps = pieces});
  SoloWorker serial = engine_of("serial", network, {});
  torn.parameters().import_weights(random_weights(torn.plan().network), "test");
  serial.parameters().import_weights(random_weights(network), "test");
  for (std::uint64_t step = 0; step < 3; ++step) {
    const data::Batch batch = random_batch(model.input, kBatch, step);
    EXPECT_EQ(torn.step(batch, 0.01).sum, serial.step(batch, 0.01).sum) << "step " << step;
  }
  EXPECT_THAT(differing(serial.parameters().export_weights(), torn.parameters().export_weights()),
              IsEmpty());
}

TEST(PararealOracle, TheEngineHasTheBitsOfTheFormulas) {
  for (const int pieces : {2, 3}) {
    for (const strategy::CoarseKind coarse :
         {strategy::CoarseKind::block, strategy::CoarseKind::conv,
          strategy::CoarseKind::identity}) {
      expect_oracle({"mlp:32-32-32-32", pieces, coarse});
      expect_oracle({"resnet20", pieces, coarse});
    }
    expect_oracle({"mlp:64-32-16-8", pieces});
    expect_oracle({"mlp:64-32-16-8", pieces, strategy::CoarseKind::conv});
  }
  expect_oracle({"lenet", 2});
  expect_oracle({"lenet", 2, strategy::CoarseKind::conv});
}

TEST(PararealOracle, OfManyPiecesToo) {
  expect_oracle({"mlp:32-32-32-32-32-32", 6});
  expect_oracle({"mlp:32-32-32-32-32-32", 6, strategy::CoarseKind::identity});
  expect_oracle({"resnet20", 6});
}

// Coarse parts of all kinds of shapes: windows that overlap, images that grow, odd sizes.
TEST(PararealOracle, OfRandomNetworksToo) {
  strategy::RandomModels models(1);
  int torn = 0;
  for (int i = 0; i < 60; ++i) {
    const graph::ModelSpec model = models.next();
    const plan::Network network = plan::make_network(model);
    const auto most = strategy::TornChain(network).borders().size() + 1;
    SCOPED_TRACE(fmt::format("network {}", i));
    for (const int pieces : {2, 3}) {
      if (most < static_cast<std::size_t>(pieces)) continue;
      ++torn;
      expect_formulas(model, {.model = model.name, .pieces = pieces});
      expect_formulas(
          model, {.model = model.name, .pieces = pieces, .coarse = strategy::CoarseKind::conv});
      expect_serial_twin(model, pieces);
    }
  }
  EXPECT_GE(torn, 80);
}

class PararealBits : public TrainTest {
 protected:
  session::TrainConfig torn(int pieces, int workers) const {
    session::TrainConfig config = small();
    config.model = "mlp:32-32-32-32";
    config.strategy = "parareal";
    config.pieces = std::to_string(pieces);
    config.workers = workers;
    config.threads = 1;
    config.batch = 16;
    config.train_limit = 150;  // nine of 16 and one of 6
    config.test_limit = 16;
    config.epochs = 1;
    config.checkpoint_every = 0;
    config.stall_seconds = 10;
    return config;
  }
  session::TrainConfig images(int pieces, int workers) const {
    session::TrainConfig config = torn(pieces, workers);
    config.model = "resnet20";
    config.data = noise_images(folder_);
    config.train_limit = 64;
    config.steps = 3;
    return config;
  }
  static std::string hash(const session::TrainConfig& config) { return run(config).weights_hash; }
};

TEST_F(PararealBits, AreTheSameOnAnyNumberOfWorkers) {
  for (const char* coarse : {"block", "conv", "identity"}) {
    for (int sweeps = 1; sweeps <= 3; ++sweeps) {
      for (const int microbatches : {1, 3}) {
        std::vector<std::string> hashes;
        for (int workers = 1; workers <= 3; ++workers) {
          session::TrainConfig config = torn(3, workers);
          config.coarse = coarse;
          config.sweeps = sweeps;
          config.microbatches = microbatches;
          hashes.push_back(hash(config));
        }
        EXPECT_THAT(hashes, testing::Each(hashes.front()))
            << coarse << ", " << sweeps << " sweeps, " << microbatches << " microbatches";
      }
    }
  }
}

TEST_F(PararealBits, OfImagesToo) {
  for (const int sweeps : {1, 2, 3}) {
    std::vector<std::string> hashes;
    for (int workers = 1; workers <= 3; ++workers) {
      session::TrainConfig config = images(3, workers);
      config.sweeps = sweeps;
      config.microbatches = sweeps == 1 ? 3 : 1;
      hashes.push_back(hash(config));
    }
    EXPECT_THAT(hashes, testing::Each(hashes.front())) << sweeps << " sweeps";
  }
}

TEST_F(PararealBits, DependOnSweepsPiecesAndKind) {
  std::vector<std::string> hashes;
  const auto add = [&](int pieces, int sweeps, const char* coarse) {
    session::TrainConfig config = torn(pieces, 1);
    config.sweeps = sweeps;
    config.coarse = coarse;
    hashes.push_back(hash(config));
  };
  add(2, 1, "block");
  add(3, 1, "block");
  add(3, 2, "block");
  add(3, 3, "block");
  add(3, 1, "conv");
  add(3, 1, "identity");
  std::ranges::sort(hashes);
  EXPECT_EQ(std::ranges::adjacent_find(hashes), hashes.end());
  EXPECT_EQ(hash(torn(3, 2)), hash(torn(3, 2)));
}

TEST_F(PararealBits, ResumedAreThoseOfTheWholeRun) {
  for (const int sweeps : {1, 2}) {
    session::TrainConfig config = images(3, 3);
    config.steps = 0;
    config.epochs = 2;
    config.checkpoint_every = 2;
    config.sweeps = sweeps;
    const session::TrainResult whole = run(config);
    config.run_dir = (folder_ / std::to_string(sweeps)).string();
    config.steps = 3;
    run(config);
    config.steps = 0;
    config.resume = true;
    config.workers = 2;  // as many pieces, whoever computes them
    const session::TrainResult resumed = run(config);
    EXPECT_EQ(resumed.weights_hash, whole.weights_hash) << sweeps;
    EXPECT_EQ(resumed.test_loss, whole.test_loss) << sweeps;
  }
}

TEST_F(PararealBits, OfReplicasAreThoseOfTheirAverage) {
  const auto with_replicas = [](session::TrainConfig config, int workers) {
    config.replicas = 2;
    config.workers = 2 * workers;
    return hash(config);
  };
  for (const int sweeps : {1, 2}) {
    for (const int microbatches : {1, 2}) {
      session::TrainConfig config = torn(3, 1);
      config.sweeps = sweeps;
      config.microbatches = microbatches;
      const std::string one = with_replicas(config, 1);
      EXPECT_EQ(with_replicas(config, 2), one) << sweeps << ", " << microbatches;
      EXPECT_EQ(with_replicas(config, 3), one) << sweeps << ", " << microbatches;
    }
  }
  session::TrainConfig config = torn(4, 1);  // as many as possible: there is one way to tear it
  config.train_limit = 160;
  const std::string both = with_replicas(config, 2);
  config.microbatches = 2;  // the gradients of two halves, added
  EXPECT_EQ(hash(config), both);
  EXPECT_EQ(with_replicas(images(3, 1), 2), with_replicas(images(3, 1), 1));
}

TEST_F(PararealBits, HalfNumbersOnTheWireStayNear) {
  for (session::TrainConfig config : {torn(3, 3), images(3, 3)}) {
    config.epochs = 3;
    const session::TrainResult whole = run(config);
    config.residual_wire = "bf16";
    const session::TrainResult half = run(config);
    EXPECT_NE(half.weights_hash, whole.weights_hash) << config.model;
    EXPECT_NEAR(half.train_loss, whole.train_loss, 0.02 * whole.train_loss) << config.model;
    EXPECT_EQ(2 * half.bytes_sent, whole.bytes_sent) << config.model;
    EXPECT_EQ(run(config).weights_hash, half.weights_hash) << config.model;
    config.workers = 1;  // nothing travels
    session::TrainConfig alone = config;
    alone.residual_wire = "fp32";
    EXPECT_EQ(hash(config), hash(alone)) << config.model;
  }
}

TEST_F(PararealBits, ResidualsAreTheSameOnAnyNumberOfWorkers) {
  const session::TrainResult one = run(images(3, 1));
  const session::TrainResult three = run(images(3, 3));
  ASSERT_EQ(one.residuals.size(), 2U);
  ASSERT_EQ(three.residuals.size(), 2U);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(one.residuals[i].name, three.residuals[i].name);
    EXPECT_DOUBLE_EQ(one.residuals[i].value, three.residuals[i].value);
    EXPECT_GT(one.residuals[i].value, 0);
  }
  EXPECT_EQ(one.test_loss, three.test_loss);
}

}  // namespace
}  // namespace plait::run
