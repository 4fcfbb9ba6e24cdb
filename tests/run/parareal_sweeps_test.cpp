// Sweeps: after as many as there are pieces the torn network is the serial one, bit for bit,
// whatever its coarse parts.
#include <gmock/gmock.h>
#include <omp.h>

#include "graph/shapes.hpp"
#include "run/noise_images.hpp"
#include "run/torn_testing.hpp"
#include "run/training.hpp"

namespace plait::run {
namespace {

constexpr std::int64_t kSweepBatch = 2;

const std::vector<strategy::CoarseKind>& kinds() {
  static const std::vector<strategy::CoarseKind> all{
      strategy::CoarseKind::block, strategy::CoarseKind::conv, strategy::CoarseKind::identity};
  return all;
}

/// Nothing where the kind does not fit.
std::optional<strategy::Tearing> try_tear(const plan::Network& network, int pieces,
                                          strategy::CoarseKind kind) {
  try {
    return tearing_for(network, pieces, kind);
  } catch (const UserError&) {
    return std::nullopt;
  }
}

tensor::Tensor images_for(const plan::Network& network) {
  return random_tensor(network.input.with_front(kSweepBatch), 3);
}

class SerialTwin : public testing::TestWithParam<const char*> {};

TEST_P(SerialTwin, IsWhatAsManySweepsAsPiecesGive) {
  const plan::Network network = strategy::network_of(GetParam());
  const tensor::Tensor images = images_for(network);
  const std::vector<float> wanted = Evaluated(network, kSweepBatch).logits(images);
  EXPECT_TRUE(std::ranges::all_of(wanted, [](float x) { return std::isfinite(x) && x != 0; }));
  for (const int pieces : {2, 3, 6}) {
    for (const strategy::CoarseKind kind : kinds()) {
      const bool large = network.parameters() > 1'000'000;  // takes long to make
      if (kind != strategy::CoarseKind::block && large) continue;
      const auto tearing = try_tear(network, pieces, kind);
      if (!tearing) continue;
      SCOPED_TRACE(fmt::format("{} pieces, {}", pieces, name_of(kind)));
      const auto logits = [&](int sweeps) {
        return Evaluated(torn_network(network, *tearing, sweeps).network, kSweepBatch)
            .logits(images);
      };
      EXPECT_TRUE(equal_bits(logits(pieces), wanted));
      if (large && pieces > 2) continue;
      EXPECT_FALSE(equal_bits(logits(pieces - 1), wanted)) << "the test sees nothing";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, SerialTwin,
                         testing::Values("mlp:32-32-32-32-32-32", "vgg11", "resnet20", "resnet164"),
                         [](const auto& one) {
                           const std::string name = one.param;
                           return name.substr(0, name.find(':'));
                         });

TEST(Sweeping, LeavingOutWhatIsNotNeededChangesNothing) {
  for (const char* name : {"mlp:32-32-32-32-32-32", "resnet20"}) {
    const plan::Network network = strategy::network_of(name);
    const tensor::Tensor images = images_for(network);
    for (const int pieces : {2, 3, 6}) {
      for (const strategy::CoarseKind kind : kinds()) {
        auto tearing = try_tear(network, pieces, kind);
        if (!tearing) continue;
        for (int sweeps = 1; sweeps <= pieces; ++sweeps) {
          tearing->sweeps = sweeps;  // each with running statistics of its own
          const auto logits = [&](strategy::Sweeping sweeping) {
            return Evaluated(torn_network(network, *tearing, sweeps, sweeping).network, kSweepBatch)
                .logits(images);
          };
          EXPECT_TRUE(
              equal_bits(logits(strategy::Sweeping::needed), logits(strategy::Sweeping::all)))
              << name << ", " << pieces << " pieces, " << sweeps << " sweeps, " << name_of(kind);
        }
      }
    }
  }
}

TEST(Sweeping, EverySweepHasRunningStatisticsOfItsOwn) {
  const plan::Network network = strategy::network_of("resnet20");
  const tensor::Tensor images = images_for(network);
  constexpr int kPieces = 6;
  strategy::Tearing tearing = tearing_for(network, kPieces, strategy::CoarseKind::conv);
  for (int sweeps = 1; sweeps <= kPieces; ++sweeps) {
    SCOPED_TRACE(fmt::format("{} sweeps", sweeps));
    const bool several = sweeps > 1 && sweeps < kPieces;
    const plan::Network trained =
        torn_network(network, tearing, sweeps, strategy::Sweeping::needed).network;
    const std::vector<checkpoint::NamedTensor> weights = random_weights(trained);
    std::vector<checkpoint::NamedTensor> own = weights;
    std::erase_if(
        own, [](const checkpoint::NamedTensor& one) { return plan::is_of_another_set(one.name); });
    EXPECT_EQ(own.size() < weights.size(), several);
    const std::vector<float> wanted = Evaluated(trained, kSweepBatch, weights).logits(images);
    // what the file does not know begins as the model's own
    const std::vector<float> without = Evaluated(trained, kSweepBatch, own).logits(images);
    EXPECT_EQ(equal_bits(without, wanted), !several);
    // with the sweeps of the training they are used, with others not
    const auto read = [&](int as_if_trained_with) {
      strategy::Tearing saved = tearing;
      saved.sweeps = as_if_trained_with;
      return Evaluated(torn_network(network, saved, sweeps).network, kSweepBatch, weights)
          .logits(images);
    };
    EXPECT_TRUE(equal_bits(read(sweeps), wanted));
    EXPECT_TRUE(equal_bits(read(sweeps + 1), without));
  }
}

TEST(Sweeping, TheFirstInterfacesAreExactAndTheOthersNot) {
  for (const char* name : {"mlp:32-32-32-32-32-32", "resnet20"}) {
    const plan::Network network = strategy::network_of(name);
    const tensor::Tensor images = images_for(network);
    constexpr int kPieces = 6;
    const strategy::Tearing tearing = tearing_for(network, kPieces);
    for (int sweeps = 1; sweeps <= kPieces; ++sweeps) {
      const strategy::TornNetwork torn = torn_network(network, tearing, sweeps);
      Evaluated evaluated(torn.network, kSweepBatch);
      evaluated.logits(images);
      const std::vector<ResidualSums> sums = evaluated.residuals();
      // u_j is right in sweep j and stays, so that in sweep k nothing changes in front of piece k
      for (int piece = 1; piece < kPieces; ++piece) {
        const strategy::TornCell& cell = torn.cell(sweeps - 1, piece);
        const ResidualSums& one = sums[static_cast<std::size_t>(cell.difference)];
        SCOPED_TRACE(fmt::format("{}, sweep {}, piece {}", name, sweeps, piece + 1));
        EXPECT_EQ(one.residual() == 0, piece + 1 <= sweeps);
        EXPECT_GT(one.other, 0);
      }
    }
  }
}

TEST(Sweeping, ALinearNetworkWithExactCoarsePartsIsSerialInOneSweep) {
  graph::ModelSpec model{.name = "line", .input = {24}, .blocks = {}};
  for (const std::int64_t width : {32, 16, 48, 24, 20, 10}) {
    model.blocks.emplace_back(graph::BlockSpec{.name = fmt::format("l{}", width), .nodes = {}})
        .then("linear", ops::Linear{.out_features = width, .bias = false});
  }
  const plan::Network network = plan::make_network(model);
  const tensor::Tensor images = images_for(network);
  const std::vector<float> wanted = Evaluated(network, kSweepBatch).logits(images);
  const strategy::Tearing tearing = tearing_for(network, 5, strategy::CoarseKind::conv);
  const plan::Network torn = torn_network(network, tearing, 1).network;
  const std::vector<checkpoint::NamedTensor> random = random_weights(torn);
  std::vector<checkpoint::NamedTensor> weights = random;
  int copied = 0;
  for (checkpoint::NamedTensor& one : weights) {
    const std::size_t at = one.name.find(".coarse.");
    if (at == std::string::npos) continue;
    const auto block = std::ranges::find(random, one.name.substr(0, at) + ".linear.weight",
                                         &checkpoint::NamedTensor::name);
    ASSERT_NE(block, random.end()) << one.name;
    one.tensor = block->tensor;
    ++copied;
  }
  EXPECT_EQ(copied, 4);
  const auto distance = [&](const std::vector<checkpoint::NamedTensor>& with) {
    const std::vector<float> logits = Evaluated(torn, kSweepBatch, with).logits(images);
    double most = 0;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      most = std::max(most, std::abs(static_cast<double>(logits[i]) - wanted[i]));
    }
    return most;
  };
  EXPECT_LT(distance(weights), 1e-5);
  EXPECT_GT(distance(random), 1e-2) << "the test sees nothing";
}

TEST(Sweeping, EveryCoarsePartMapsZeroToZero) {
  const std::vector<std::pair<tensor::Shape, tensor::Shape>> pairs{{{16, 8, 8}, {16, 8, 8}},
                                                                   {{16, 8, 8}, {32, 4, 4}},
                                                                   {{3, 32, 32}, {20, 4, 4}},
                                                                   {{20, 7, 7}, {50, 3, 3}},
                                                                   {{8, 8, 8}, {8, 1, 1}},
                                                                   {{32}, {32}},
                                                                   {{32}, {10}},
                                                                   {{5, 4, 4}, {40}}};
  omp_set_num_threads(1);
  for (const auto& [src, dst] : pairs) {
    for (const strategy::CoarseKind kind :
         {strategy::CoarseKind::block, strategy::CoarseKind::conv}) {
      SCOPED_TRACE(fmt::format("{} {} {}", name_of(kind), src, dst));
      graph::ModelSpec model{.name = "probe", .input = src, .blocks = {}};
      model.blocks.push_back(coarse_block("f", kind, src, dst));
      if (dst.rank() == 3) {
        model.blocks.emplace_back(graph::BlockSpec{.name = "flat", .nodes = {}})
            .then("flatten", ops::Flatten{});
      }
      const plan::Network network = plan::make_network(model);
      Evaluated probe(network, kSweepBatch);
      const auto is_zero = [](float x) { return x == 0; };
      const auto of_zeros = probe.logits(tensor::Tensor(src.with_front(kSweepBatch)));
      EXPECT_TRUE(std::ranges::all_of(of_zeros, is_zero));
      EXPECT_FALSE(std::ranges::all_of(probe.logits(images_for(network)), is_zero));
    }
  }
}

class SweepTraining : public TrainTest {};

TEST_F(SweepTraining, EvaluationSeesWhatTrainingSaw) {
  session::TrainConfig config = small();
  config.model = "resnet20";
  config.data = noise_images(folder_);
  config.threads = 1;
  config.batch = 16;
  config.epochs = 60;  // running statistics settle
  config.train_limit = 16;
  config.checkpoint_every = 0;
  config.lr = 1e-6;
  config.run_dir = "none";
  config.strategy = "parareal";
  config.pieces = "4";
  config.coarse = "conv";
  config.workers = 1;
  config.sweeps = 2;
  const session::TrainResult result = run(config);
  // The test images are the training images, here normalised with running statistics.
  EXPECT_NEAR(result.test_loss, result.train_loss, 0.02 * result.train_loss);
}

TEST_F(SweepTraining, WithAsManySweepsAsPiecesIsTheSerialOne) {
  for (const char* model : {"mlp:32-32-32-32", "lenet", "resnet20"}) {
    session::TrainConfig config = small();
    config.model = model;
    config.threads = 1;
    config.batch = 16;
    config.epochs = 2;
    config.train_limit = 64;
    config.test_limit = 16;
    config.checkpoint_every = 0;
    config.weight_decay = 1e-3;
    if (config.model == "resnet20") config.data = noise_images(folder_);
    config.run_dir = (folder_ / (config.model.substr(0, 3) + "-serial")).string();
    const session::TrainResult serial = run(config);
    const auto serial_weights =
        checkpoint::read_safetensors(session::weights_of_run(config.run_dir)).tensors;
    config.strategy = "parareal";
    for (const int pieces : {2, 3}) {
      if (config.model == "lenet" && pieces > 2) continue;  // it has one place
      config.pieces = std::to_string(pieces);
      config.sweeps = pieces;
      config.workers = pieces;
      config.run_dir = (folder_ / fmt::format("{}-{}", config.model.substr(0, 3), pieces)).string();
      const session::TrainResult torn = run(config);
      SCOPED_TRACE(fmt::format("{} in {}", model, pieces));
      EXPECT_EQ(torn.train_loss, serial.train_loss);
      EXPECT_EQ(torn.test_loss, serial.test_loss);
      EXPECT_EQ(torn.test_accuracy, serial.test_accuracy);
      const auto weights =
          checkpoint::read_safetensors(session::weights_of_run(config.run_dir)).tensors;
      EXPECT_GT(weights.size(), serial_weights.size());
      EXPECT_THAT(differing(serial_weights, weights), testing::IsEmpty());
      config.sweeps = 1;
      config.run_dir = "none";
      EXPECT_NE(run(config).train_loss, serial.train_loss) << "the test sees nothing";
    }
  }
}

}  // namespace
}  // namespace plait::run
