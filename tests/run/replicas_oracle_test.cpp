// daso, local_sgd and diloco: the distributed run has the bits of the plain algorithm.
#include "plan/worker_memory.hpp"
#include "run/plain_replicas.hpp"
#include "run/tied_models.hpp"
#include "temp_folder.hpp"

namespace plait::run {
namespace {

namespace fs = std::filesystem;

struct Shape2 {
  int nodes;
  int places;
};

session::TrainConfig config_for(const std::string& strategy, Shape2 shape) {
  session::TrainConfig config;
  config.model = "mlp:24-16";
  config.strategy = strategy;
  config.nodes = shape.nodes;
  config.workers_per_node = shape.places;
  config.workers = 0;
  config.threads = 1;
  config.batch = 24;
  config.train_limit = 264;  // 11 steps: no exchange fits it evenly
  config.test_limit = 50;
  config.epochs = 4;
  config.lr = 0.05;
  config.weight_decay = 1e-4;
  config.run_dir = "none";
  config.pin = "none";
  config.outer_lr = 0.7;
  config.outer_momentum = 0.9;
  return config;
}

std::string plain(const session::TrainConfig& config) {
  std::vector<strategy::ExchangeMode> modes;
  if (config.strategy == "daso") {
    modes = strategy::daso_modes(strategy::exchange_request(config));
  } else {
    modes = {
        {.every = static_cast<int>(config.local_steps),
         .wait = 0,
         .merge = config.strategy == "diloco" ? plan::MergeKind::outer : plan::MergeKind::average}};
  }
  return PlainReplicas(config, modes).run();
}

class Replicas : public testing::TestWithParam<std::tuple<std::string, Shape2>> {};

TEST_P(Replicas, HaveTheBitsOfThePlainAlgorithm) {
  const auto& [strategy, shape] = GetParam();
  session::TrainConfig config = config_for(strategy, shape);
  config.local_steps = 3;
  EXPECT_EQ(run(config).weights_hash, plain(config));
}

std::string name_of_case(const testing::TestParamInfo<Replicas::ParamType>& info) {
  const Shape2 shape = std::get<1>(info.param);
  return std::get<0>(info.param) + "_" + std::to_string(shape.nodes) + "x" +
         std::to_string(shape.places);
}

INSTANTIATE_TEST_SUITE_P(Machines, Replicas,
                         testing::Combine(testing::Values("daso", "local_sgd", "diloco"),
                                          testing::Values(Shape2{2, 1}, Shape2{2, 2}, Shape2{3, 2},
                                                          Shape2{4, 1})),
                         name_of_case);

TEST(Daso, BothMergesAndAllWaitsAreThePlainOnes) {
  for (const std::string merge : {"paper", "corrected"}) {
    for (const auto& [every, wait] :
         std::vector<std::pair<int, int>>{{2, 1}, {4, 2}, {4, 3}, {8, 2}}) {
      session::TrainConfig config = config_for("daso", {2, 1});
      config.merge = merge;
      config.exchange_every = every;
      config.exchange_wait = wait;
      config.warmup_epochs = 0;
      config.cooldown_epochs = 0;
      EXPECT_EQ(run(config).weights_hash, plain(config)) << merge << every << wait;
    }
  }
}

/// The norm that is clipped is that of a node's mean gradient, however many nodes there are.
TEST(Daso, ClipsTheGradientOfANode) {
  for (const Shape2 shape : {Shape2{2, 1}, Shape2{3, 2}}) {
    session::TrainConfig config = config_for("daso", shape);
    const std::string free = run(config).weights_hash;
    config.clip_norm = 0.5;
    EXPECT_EQ(run(config).weights_hash, plain(config)) << shape.nodes;
    EXPECT_NE(run(config).weights_hash, free);
  }
}

/// The last minibatch of an epoch may have fewer samples than there are nodes.
TEST(Daso, ANodeWithoutSamplesStaysFinite) {
  for (const std::string strategy : {"daso", "local_sgd", "diloco"}) {
    for (const Shape2 shape : {Shape2{2, 1}, Shape2{4, 2}}) {
      session::TrainConfig config = config_for(strategy, shape);
      config.model = "preresnet11";
      config.epochs = 2;
      config.train_limit = 49;
      const session::TrainResult result = run(config);
      EXPECT_TRUE(std::isfinite(result.test_loss)) << strategy << shape.nodes;
      EXPECT_TRUE(std::isfinite(result.train_loss)) << strategy << shape.nodes;
    }
  }
}

TEST(Daso, PlansForeseeTheMemoryOfExchanges) {
  for (const std::string strategy : {"daso", "local_sgd", "diloco"}) {
    for (const std::string wire : {"fp32", "bf16"}) {
      session::TrainConfig config = config_for(strategy, {2, 2});
      config.local_steps = 3;
      config.exchange_wire = wire;
      const session::TrainResult result = run(config);
      for (int worker = 0; worker < 4; ++worker) {
        const auto measured = static_cast<double>(result.memory[static_cast<std::size_t>(worker)]);
        const plan::WorkerMemory foreseen = plan::MemoryForecast(result.plan).of(worker);
        EXPECT_NEAR(static_cast<double>(foreseen.held()), measured, 0.1 * measured)
            << strategy << " " << wire << " " << worker;
      }
    }
  }
}

/// A loss that stands still takes B and W through all their values, B = W = 1 among them.
TEST(Daso, FollowsTheLossThroughAllModes) {
  session::TrainConfig config = config_for("daso", {2, 1});
  config.lr = 1e-6;
  config.epochs = 18;
  config.warmup_epochs = 1;
  PlainReplicas oracle(config, strategy::daso_modes(strategy::exchange_request(config)));
  EXPECT_EQ(run(config).weights_hash, oracle.run());
  EXPECT_EQ(oracle.modes_used(),
            (std::vector<int>{4, 0, 0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3, 0, 0, 0, 4}));
}

/// Users of one matrix, some with another layout, are added before the workers of a node are
/// summed.
TEST(Daso, AddsTheUsersOfTiedWeights) {
  const TempFolder folder;
  for (const std::string name : {"linears", "convolutions", "residual"}) {
    write_text(folder.path() / (name + ".toml"), tied_models().at(name));
    for (const std::string strategy : {"daso", "local_sgd", "diloco"}) {
      for (const Shape2 shape : {Shape2{2, 1}, Shape2{2, 2}}) {
        session::TrainConfig config = config_for(strategy, shape);
        config.model = (folder.path() / (name + ".toml")).string();
        config.epochs = 2;
        config.train_limit = 120;
        config.local_steps = 2;
        config.cooldown_epochs = 0;
        config.clip_norm = 0.5;
        EXPECT_EQ(run(config).weights_hash, plain(config)) << name << strategy << shape.places;
      }
    }
  }
}

/// BatchNorm's running statistics are weighed inside a node and merged between nodes.
TEST(Daso, MergesRunningStatistics) {
  for (const std::string strategy : {"daso", "diloco"}) {
    session::TrainConfig config = config_for(strategy, {2, 2});
    config.model = "preresnet11";
    config.epochs = 2;
    config.train_limit = 96;
    config.local_steps = 2;
    config.cooldown_epochs = 0;
    EXPECT_EQ(run(config).weights_hash, plain(config)) << strategy;
  }
}

class ReplicasResume : public testing::TestWithParam<std::string> {};

TEST_P(ReplicasResume, GoesOnWithTheSameBits) {
  const TempFolder folder;
  session::TrainConfig whole = config_for(GetParam(), {2, 2});
  session::TrainConfig part = whole;
  part.run_dir = (folder.path() / "run").string();
  part.epochs = whole.epochs;
  part.steps = 22;
  session::TrainConfig rest = part;
  rest.resume = true;
  rest.steps = 0;
  // The number of epochs decides when daso cools down: the first part must know it.
  whole.cooldown_epochs = part.cooldown_epochs = rest.cooldown_epochs = 0;
  run(part);
  EXPECT_EQ(run(rest).weights_hash, run(whole).weights_hash);
}

INSTANTIATE_TEST_SUITE_P(All, ReplicasResume, testing::Values("daso", "local_sgd", "diloco"));

/// Pipelines add as one worker does, and a torn network computes the same wherever its pieces are:
/// nodes of one worker are the oracle of nodes of several.
class Inner : public testing::TestWithParam<std::tuple<std::string, std::string>> {
 protected:
  static session::TrainConfig config(int places) {
    const auto& [strategy, inner] = GetParam();
    session::TrainConfig config = config_for(strategy, {2, places});
    const bool torn = inner == "parareal";
    config.inner = torn || places > 1 ? inner : "data_parallel";
    config.model = "preresnet20";
    config.microbatches = 2;
    if (torn) config.replicas = 1;
    if (torn) config.pieces = "2";
    config.epochs = 2;
    config.train_limit = 120;
    config.local_steps = 2;
    config.warmup_epochs = 0;
    return config;
  }
};

TEST_P(Inner, HasTheBitsOfNodesOfOneWorker) {
  EXPECT_EQ(run(config(2)).weights_hash, run(config(1)).weights_hash);
}

std::string name_of_inner(const testing::TestParamInfo<Inner::ParamType>& info) {
  std::string name = std::get<0>(info.param) + "_" + std::get<1>(info.param);
  std::ranges::replace(name, '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Strategies, Inner,
                         testing::Combine(testing::Values("daso", "diloco"),
                                          testing::Values("1f1b", "gpipe", "zb-h1", "parareal")),
                         name_of_inner);

TEST(Daso, SweepsInsideANode) {
  for (const int sweeps : {2, 3}) {
    std::vector<std::string> hashes;
    for (const int places : {1, 3}) {
      session::TrainConfig config = config_for("daso", {2, places});
      config.inner = "parareal";
      config.model = "preresnet20";
      config.replicas = 1;
      config.pieces = "3";
      config.sweeps = sweeps;
      config.epochs = 2;
      config.train_limit = 60;
      config.warmup_epochs = 0;
      hashes.push_back(run(config).weights_hash);
    }
    EXPECT_EQ(hashes.front(), hashes.back()) << sweeps << " sweeps";
  }
}

TEST(Daso, CutsRowsInsideANode) {
  session::TrainConfig config = config_for("daso", {2, 2});
  const session::TrainResult shared = run(config);
  config.inner = "sparse_rows";
  const session::TrainResult cut = run(config);
  EXPECT_NEAR(cut.train_loss, shared.train_loss, 1e-3 * shared.train_loss);
  EXPECT_EQ(cut.test_accuracy, shared.test_accuracy);
  EXPECT_EQ(run(config).weights_hash, cut.weights_hash);
}

TEST(Daso, TellsHowMuchOfTheExchangesWasHidden) {
  session::TrainConfig config = config_for("daso", {2, 1});
  config.link_between_nodes = "100Mbit/s,100us";
  const session::TrainResult result = run(config);
  EXPECT_GT(result.exchanges, 0);
  // The weights, half there and half back, at that rate.
  EXPECT_GT(result.exchange_seconds,
            0.5 * static_cast<double>(result.exchanges) * 4 * 19'400 / 12.5e6);
  EXPECT_GE(result.exchange_waited_seconds, 0);
  EXPECT_EQ(run(config_for("local_sgd", {2, 1})).exchanges, 0);
}

/// Rounded on the way, but what rounding leaves out is sent later: hardly worse, and reproducible.
TEST(Daso, HalfWireStaysCloseAndIsReproducible) {
  session::TrainConfig config = config_for("daso", {2, 1});
  const session::TrainResult exact = run(config);
  config.exchange_wire = "bf16";
  const session::TrainResult half = run(config);
  EXPECT_NE(half.weights_hash, exact.weights_hash);
  EXPECT_NEAR(half.train_loss, exact.train_loss, 0.01 * exact.train_loss);
  EXPECT_LT(half.bytes_sent, 0.75 * static_cast<double>(exact.bytes_sent));
  EXPECT_EQ(run(config).weights_hash, half.weights_hash);
}

}  // namespace
}  // namespace plait::run
