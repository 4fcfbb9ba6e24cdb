// Everyday settings (order and last minibatch, decay, class weights, microbatches of different
// size, batch_norm over one value) against plain loops that know nothing of plans.
#include <gmock/gmock.h>

#include "base/error.hpp"
#include "partition/partition.hpp"
#include "run/class_weights.hpp"
#include "run/noise_images.hpp"
#include "run/plain_replicas.hpp"
#include "run/plain_sgd.hpp"
#include "run/sparse_files.hpp"
#include "run/training.hpp"
#include "strategy/sparse_rows/sparse_rows.hpp"

namespace plait::run {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;

class Settings : public TrainTest {
 protected:
  session::TrainConfig alone(const std::string& model) {
    session::TrainConfig config = small();
    config.model = model;
    config.threads = 1;
    config.batch = 16;
    config.epochs = 2;
    config.checkpoint_every = 0;
    config.test_limit = 16;
    config.train_limit = 64;
    config.lr = 0.02;
    if (!model.starts_with("mlp")) config.data = noise_images(folder_);
    return config;
  }
  static session::TrainConfig spread(session::TrainConfig config, const std::string& strategy,
                                     int workers) {
    config.strategy = strategy;
    config.workers = workers;
    return config;
  }
  static std::string plain(const session::TrainConfig& config) {
    return PlainSgd(config, {}).run();
  }

  /// The losses of every step, up to another order of sums.
  static void expect_same_curve(const session::TrainConfig& config,
                                const session::TrainConfig& one) {
    const std::vector<double> ours = losses_of(config);
    const std::vector<double> wanted = losses_of(one);
    ASSERT_EQ(ours.size(), wanted.size());
    for (std::size_t i = 0; i < ours.size(); ++i) EXPECT_NEAR(ours[i], wanted[i], 2e-4) << i;
  }
};

TEST_F(Settings, DropLastLeavesOutTheSmallerLastMinibatch) {
  session::TrainConfig config = alone("mlp:32");
  config.train_limit = 75;  // four of 16 and one of 11
  EXPECT_EQ(run(config).steps, 10);
  config.drop_last = true;
  for (const char* strategy : {"serial", "data_parallel", "layerpipe"}) {
    const int workers = strategy == std::string("serial") ? 1 : 2;
    const session::TrainResult result = run(spread(config, strategy, workers));
    EXPECT_EQ(result.steps, 8) << strategy;
    if (workers == 1) {
      EXPECT_EQ(result.weights_hash, plain(config));
    }
  }
}

TEST_F(Settings, TheLossOfAnEpochIsTheMeanOverTheSamplesItHad) {
  session::TrainConfig config = alone("mlp:32");
  config.train_limit = 75;
  config.drop_last = true;
  config.epochs = 1;
  LossCurve curve;
  const session::TrainResult result = session::train(job_of(config, curve));
  double sum = 0;
  for (const double loss : curve.losses) sum += loss / static_cast<double>(curve.losses.size());
  EXPECT_NEAR(result.train_loss, sum, 1e-12);
}

TEST_F(Settings, WithoutShuffleTheOrderIsThatOfTheData) {
  session::TrainConfig config = alone("mlp:32");
  const std::string shuffled = run(config).weights_hash;
  config.shuffle = false;
  const std::string in_order = run(config).weights_hash;
  EXPECT_NE(in_order, shuffled);
  EXPECT_EQ(in_order, plain(config));
  config.lr = 0;  // the second epoch repeats the first
  const std::vector<double> losses = losses_of(config);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(losses[i], losses[i + 4]);
}

TEST_F(Settings, DecayOfMatricesSparesBiasesAndNormalisation) {
  for (const char* model : {"mlp:32-16", "resnet20"}) {
    for (const char* optimizer : {"sgd", "adamw"}) {
      session::TrainConfig config = alone(model);
      config.optimizer = optimizer;
      config.weight_decay = 0.1;
      const std::string all = run(config).weights_hash;
      EXPECT_EQ(all, plain(config));
      config.decay = "matrices";
      const std::string matrices = run(config).weights_hash;
      EXPECT_NE(matrices, all);
      EXPECT_EQ(matrices, plain(config)) << model << ", " << optimizer;
    }
  }
}

TEST_F(Settings, DecayOfMatricesWithOldWeightsAndReplicas) {
  session::TrainConfig config = alone("resnet20");
  config.weight_decay = 0.1;
  config.decay = "matrices";
  session::TrainConfig late = spread(config, "layerpipe", 3);
  late.pipeline = "async";
  const plan::Plan plan = plan_for(late, make_setup(late).model, session::machine_of(late));
  EXPECT_EQ(run(late).weights_hash, PlainSgd(late, {.delay = plan::staleness(plan)}).run());
  session::TrainConfig nodes = alone("mlp:24-16");
  nodes.strategy = "local_sgd";
  nodes.nodes = 2;
  nodes.workers_per_node = 2;
  nodes.weight_decay = 0.1;
  nodes.decay = "matrices";
  nodes.local_steps = 3;
  nodes.pin = "none";
  EXPECT_EQ(
      run(nodes).weights_hash,
      PlainReplicas(nodes, {{.every = 3, .wait = 0, .merge = plan::MergeKind::average}}).run());
  session::TrainConfig one = alone("mlp:32-16");
  one.weight_decay = 0.1;
  one.decay = "matrices";
  expect_same_curve(spread(one, "data_parallel", 2), one);
}

TEST_F(Settings, DecayOfMatricesKnowsPiecesOfSparseWeights) {
  session::TrainConfig config = alone("radixnet:64x6");
  config.data = "glyphs";
  config.weight_decay = 0.5;
  config.decay = "matrices";
  EXPECT_EQ(run(config).weights_hash, plain(config));
  session::TrainConfig all = config;
  all.decay = "all";
  EXPECT_NE(run(config).weights_hash, run(all).weights_hash);
  const session::TrainConfig cut = spread(config, "sparse_rows", 3);
  LossCurve curve;
  const session::PlanMaker make = [&](const graph::ModelSpec& model, const plan::Machine& machine) {
    const plan::Network network = plan::make_network(model);
    const strategy::RowPartitioner parts =
        [](const std::vector<std::shared_ptr<const tensor::SparsePattern>>& layers, int workers) {
          return partition::make_partition(layers, {.parts = workers}).owners;
        };
    return strategy::make_plan("sparse_rows", {.network = network,
                                               .machine = machine,
                                               .batch = cut.batch,
                                               .optimizer_states = 1,
                                               .partition = parts});
  };
  session::train(job_with_plan(cut, curve, make));
  const std::vector<double> wanted = losses_of(config);
  ASSERT_EQ(curve.losses.size(), wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(curve.losses[i], wanted[i], 2e-4);
}

TEST_F(Settings, ClassWeightsAreNormalisedOverTheWholeMinibatch) {
  session::TrainConfig config = alone("mlp:32");
  const std::string even = run(config).weights_hash;
  config.class_weights = "1,2,0.5,3,1,0,1,4,1,0.1";
  const std::string weighted = run(config).weights_hash;
  EXPECT_NE(weighted, even);
  EXPECT_EQ(weighted, plain(config));
  config.label_smoothing = 0.1;
  EXPECT_EQ(run(config).weights_hash, plain(config));
  session::TrainConfig pieces = config;
  pieces.microbatches = 3;
  EXPECT_EQ(run(pieces).weights_hash, plain(pieces));
  expect_same_curve(pieces, config);
  for (const char* strategy : {"data_parallel", "layerpipe", "parareal"}) {
    session::TrainConfig many = spread(config, strategy, 2);
    if (strategy == std::string("parareal")) {
      many.model = config.model = "mlp:32-32-32-32";
      many.pieces = "2";
      many.sweeps = 2;
    }
    SCOPED_TRACE(strategy);
    expect_same_curve(many, config);
  }
}

TEST_F(Settings, ClassWeightsBetweenNodesAreThoseOfTheNodesSamples) {
  session::TrainConfig config = alone("mlp:24-16");
  config.strategy = "local_sgd";
  config.nodes = 2;
  config.workers_per_node = 2;
  config.class_weights = "1,2,0.5,3,1,0.2,1,4,1,0.1";
  config.local_steps = 3;
  config.pin = "none";
  EXPECT_EQ(
      run(config).weights_hash,
      PlainReplicas(config, {{.every = 3, .wait = 0, .merge = plan::MergeKind::average}}).run());
}

TEST_F(Settings, BalancedWeightsMakeClassesWeighAlike) {
  session::TrainConfig config = alone("mlp:32");
  config.class_weights = "balanced";
  const auto setup = make_setup(config);
  const ClassWeights weights = class_weights(config.class_weights, *setup.data.train);
  ASSERT_EQ(weights.of_class.size(), 10U);
  std::vector<double> sums(10, 0);
  double all = 0;
  for (std::int64_t i = 0; i < setup.data.train->size(); ++i) {
    const double weight = weights.of_sample[static_cast<std::size_t>(i)];
    const auto of_class = std::ranges::find(weights.of_class, static_cast<float>(weight));
    sums[static_cast<std::size_t>(of_class - weights.of_class.begin())] += weight;
    all += weight;
  }
  EXPECT_NEAR(all, 64, 1e-4);  // the mean weight is 1
  EXPECT_EQ(run(config).weights_hash, plain(config));
}

TEST_F(Settings, TheTestLossIsNotWeighted) {
  session::TrainConfig config = alone("mlp:32");
  config.lr = 0;
  const double even = run(config).test_loss;
  config.class_weights = "1,2,0.5,3,1,0,1,4,1,0.1";
  EXPECT_EQ(run(config).test_loss, even);
}

TEST_F(Settings, MicrobatchesNeedNotDivideTheBatch) {
  for (const char* model : {"mlp:32-32-32-32", "resnet20"}) {
    session::TrainConfig config = alone(model);
    config.batch = 10;
    config.drop_last = true;
    config.microbatches = 4;  // of 2, 3, 2 and 3 samples
    const std::string one = run(config).weights_hash;
    EXPECT_EQ(one, plain(config)) << model;
    for (const char* strategy : {"layerpipe", "gpipe", "1f1b", "zb-h1"}) {
      session::TrainConfig many = spread(config, strategy, 2);
      EXPECT_EQ(run(many).weights_hash, one) << model << ", " << strategy;
    }
    session::TrainConfig late = spread(config, "layerpipe", 2);
    late.pipeline = "async";
    const plan::Plan plan = plan_for(late, make_setup(late).model, session::machine_of(late));
    EXPECT_EQ(run(late).weights_hash, PlainSgd(late, {.delay = plan::staleness(plan)}).run())
        << model;
  }
}

TEST_F(Settings, UnevenMicrobatchesWeighEverySampleAlike) {
  session::TrainConfig config = alone("mlp:32-32-32-32");
  config.batch = 10;
  session::TrainConfig pieces = config;
  pieces.microbatches = 4;
  expect_same_curve(pieces, config);
  session::TrainConfig shared = spread(pieces, "data_parallel", 2);
  expect_same_curve(shared, config);
  session::TrainConfig replicated = spread(pieces, "layerpipe-replicated", 3);
  expect_same_curve(replicated, config);
}

/// batch_norm on flat features, which are one value per channel of a sample.
std::string flat_norm(const std::filesystem::path& folder) {
  const std::filesystem::path file = folder / "flat_norm.toml";
  std::ofstream(file) << "name = \"flat_norm\"\n"
                         "[[block]]\nname = \"first\"\n"
                         "layers = [{type = \"flatten\"}, {type = \"linear\", out = 16}, "
                         "{type = \"batch_norm\"}, {type = \"relu\"}]\n"
                         "[[block]]\nname = \"head\"\n"
                         "layers = [{type = \"linear\", out = \"classes\"}]\n";
  return file.string();
}

TEST_F(Settings, BatchNormOverOneValuePerChannelIsRefused) {
  session::TrainConfig config = alone("mlp:32");
  config.model = flat_norm(folder_);
  config.run_dir = (folder_ / "norm").string();
  config.microbatches = 16;
  EXPECT_THAT([&] { run(config); },
              ThrowsMessage<UserError>(AllOf(HasSubstr("block 'first', layer 'bn'"),
                                             HasSubstr("1 value per channel"),
                                             HasSubstr("`batch` 16 / 16 microbatches"),
                                             HasSubstr("at least 32 or fewer `microbatches`"))));
  EXPECT_FALSE(std::filesystem::exists(config.run_dir)) << "it is refused before the run begins";
  config.microbatches = 4;
  session::TrainConfig many = spread(config, "data_parallel", 4);
  EXPECT_THAT([&] { run(many); },
              ThrowsMessage<UserError>(AllOf(HasSubstr("`batch` 16 / 4 workers / 4 microbatches"),
                                             HasSubstr("or fewer workers or `microbatches`"))));
  config.microbatches = 1;
  config.train_limit = 65;
  EXPECT_THAT([&] { run(config); },
              ThrowsMessage<UserError>(AllOf(HasSubstr("the last minibatch of an epoch"),
                                             HasSubstr("65 samples, `batch` 16: the last has 1"),
                                             HasSubstr("`drop_last`"))));
  config.drop_last = true;
  EXPECT_EQ(run(config).steps, 8);
}

TEST_F(Settings, BatchNormOfImagesTrainsOnSingleSamples) {
  session::TrainConfig config = alone("resnet20");
  config.batch = 4;
  config.microbatches = 4;
  config.steps = 2;
  EXPECT_EQ(run(config).steps, 2);
}

}  // namespace
}  // namespace plait::run
