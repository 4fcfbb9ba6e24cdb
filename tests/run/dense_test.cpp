// Networks that end with an image: a label per pixel, of which some do not count. The mean is over
// the pixels of the whole minibatch, however it is divided.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "base/error.hpp"
#include "run/plain_sgd.hpp"
#include "run/training.hpp"

namespace plait::run {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class DensePrediction : public TrainTest {
 protected:
  DensePrediction() {
    model_ = (folder_ / "pixels.toml").string();
    std::ofstream(model_) << R"(
[[block]]
name = "a"
layers = [ {type = "convolution", out = 8, kernel = 3, padding = 1}, {type = "relu"} ]
[[block]]
name = "b"
layers = [ {type = "convolution", out = 8, kernel = 3, padding = 1}, {type = "relu"} ]
[[block]]
name = "c"
inputs = ["a", "b"]
layers = [ {type = "concat"}, {type = "convolution", out = 8, kernel = 3, padding = 1}, {type = "relu"} ]
[[block]]
name = "head"
layers = [ {type = "convolution", out = "classes", kernel = 1} ]
)";
  }
  session::TrainConfig dense() const {
    session::TrainConfig config;
    config.model = model_;
    config.data = "shapes";
    config.train_limit = 48;
    config.test_limit = 10;
    config.batch = 12;
    config.epochs = 2;
    config.lr = 0.1;
    config.threads = 1;
    config.run_dir = "none";
    config.pin = "none";
    return config;
  }
  static session::TrainConfig on(session::TrainConfig config, const char* strategy) {
    config.strategy = strategy;
    config.workers = 2;
    return config;
  }
  static std::string plain(const session::TrainConfig& config) {
    return PlainSgd(config, {}).run();
  }
  std::string refusal(const session::TrainConfig& config) const {
    try {
      run(config);
    } catch (const UserError& error) {
      return error.what();
    }
    return "no error";
  }

  std::string model_;
};

TEST_F(DensePrediction, OneWorkerIsPlainSgd) {
  session::TrainConfig config = dense();
  const session::TrainResult even = run(config);
  EXPECT_EQ(even.weights_hash, plain(config));
  config.microbatches = 3;
  EXPECT_EQ(run(config).weights_hash, plain(config));
  config.class_weights = "0.3,1,2,1.5";
  config.label_smoothing = 0.1;
  const std::string weighted = run(config).weights_hash;
  EXPECT_EQ(weighted, plain(config));
  EXPECT_NE(weighted, even.weights_hash);
}

TEST_F(DensePrediction, AnyDivisionHasTheSameMean) {
  session::TrainConfig config = dense();
  const std::vector<double> wanted = losses_of(config);
  session::TrainConfig pieces = config;
  pieces.microbatches = 4;
  for (const session::TrainConfig& other :
       {pieces, on(config, "data_parallel"), on(pieces, "layerpipe"), on(config, "gpipe")}) {
    const std::vector<double> losses = losses_of(other);
    ASSERT_EQ(losses.size(), wanted.size());
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      EXPECT_NEAR(losses[i], wanted[i], 1e-5) << other.strategy << " step " << i;
    }
  }
}

TEST_F(DensePrediction, DataParallelAndPipelinesHaveTheBitsOfOneWorker) {
  session::TrainConfig config = dense();
  config.class_weights = "balanced";
  config.microbatches = 2;
  const std::string alone = run(config).weights_hash;
  EXPECT_EQ(run(on(config, "gpipe")).weights_hash, alone);
  EXPECT_EQ(run(on(config, "layerpipe")).weights_hash, alone);
  session::TrainConfig shards = on(config, "data_parallel");
  shards.microbatches = 1;
  EXPECT_EQ(run(shards).weights_hash, alone);  // g0 + g1 in both
}

TEST_F(DensePrediction, NodesAverageOverThePixelsOfTheirOwn) {
  session::TrainConfig config = on(dense(), "local_sgd");
  config.nodes = 2;
  config.workers_per_node = 1;
  config.local_steps = 1;
  config.epochs = 4;
  const session::TrainResult result = run(config);
  EXPECT_LT(result.train_loss, 1.0);
  EXPECT_TRUE(result.test_miou.has_value());
}

TEST_F(DensePrediction, TheLossOfAnEpochIsTheMeanOverItsPixels) {
  session::TrainConfig config = dense();
  config.lr = 0;
  config.epochs = 1;
  const double small = run(config).train_loss;
  config.batch = 48;
  EXPECT_NEAR(run(config).train_loss, small, 1e-6 * small);
}

TEST_F(DensePrediction, LearnsAndReportsPixelsAndUnions) {
  session::TrainConfig config = dense();
  config.epochs = 12;
  config.optimizer = "adam";
  config.lr = 0.01;
  const std::vector<double> losses = losses_of(config);
  EXPECT_LT(losses.back(), 0.75 * losses.front());
  const session::TrainResult result = run(config);
  ASSERT_TRUE(result.test_miou && result.test_accuracy);
  EXPECT_GT(*result.test_accuracy, 0.6);
  EXPECT_GT(*result.test_miou, 0.15);
  EXPECT_LT(*result.test_miou, *result.test_accuracy);
}

TEST_F(DensePrediction, UnetTrains) {
  session::TrainConfig config = dense();
  config.model = "unet:4";
  config.epochs = 8;
  config.optimizer = "adam";
  config.lr = 0.01;
  const std::vector<double> losses = losses_of(config);
  EXPECT_LT(losses.back(), 0.7 * losses.front());
  config.epochs = 1;
  config.microbatches = 2;
  const std::string alone = run(config).weights_hash;
  EXPECT_EQ(alone, plain(config));
  EXPECT_EQ(run(on(config, "gpipe")).weights_hash, alone);
  EXPECT_EQ(run(on(config, "layerpipe")).weights_hash, alone);
}

TEST_F(DensePrediction, WorkersEvaluateTheirPartsOfTheTestData) {
  session::TrainConfig config = dense();
  config.lr = 0;
  config.epochs = 1;
  const session::TrainResult alone = run(config);
  const session::TrainResult parts = run(on(config, "data_parallel"));
  EXPECT_EQ(parts.weights_hash, alone.weights_hash);
  EXPECT_EQ(*parts.test_miou, *alone.test_miou);
  EXPECT_EQ(*parts.test_accuracy, *alone.test_accuracy);
  EXPECT_NEAR(parts.test_loss, alone.test_loss, 1e-9);
}

TEST_F(DensePrediction, WhatDoesNotFitIsRefused) {
  session::TrainConfig config = dense();
  config.model = "lenet";
  EXPECT_THAT(refusal(config), AllOf(HasSubstr("a label per pixel"), HasSubstr("4x48x48")));
  config = dense();
  config.data = "glyphs";
  EXPECT_THAT(refusal(config), HasSubstr("ends with shape 10x28x28"));
  config = dense();
  config.loss = "mse";
  EXPECT_THAT(refusal(config), HasSubstr("labels of pixels"));
  config = dense();
  config.augment = "pad-crop 4";
  EXPECT_THAT(refusal(config), HasSubstr("pad-crop"));
  config = dense();
  config.class_weights = "1,2";
  EXPECT_THAT(refusal(config), HasSubstr("4 classes"));
}

}  // namespace
}  // namespace plait::run
