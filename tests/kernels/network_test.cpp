// Ten SGD steps of a small residual network, on both back ends, against PyTorch
// (record_network.py): the gradients of the first step, every loss, the weights and running
// statistics after the last, and the logits in evaluation. Loss and SGD are written out here, so
// that only kernels/ is judged.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <fstream>

#include "kernels/block_testing.hpp"
#include "kernels/layer_cases.hpp"

namespace plait::kernels::layer_testing {
namespace {

using nlohmann::json;

constexpr double kGradientTolerance = 1e-4;  // of the largest value of each gradient
constexpr double kLossTolerance = 1e-4;      // relative
constexpr double kFinalTolerance = 1e-3;  // of the largest value, after ten steps of float rounding

Floats floats_of(const json& numbers) { return numbers.at("data").get<Floats>(); }

ops::Convolution conv3x3(std::int64_t channels, std::int64_t stride, bool bias) {
  return {.out_channels = channels, .stride = {stride, stride}, .padding = {1, 1}, .bias = bias};
}

graph::ModelSpec recorded_model() {
  const ops::Activation relu{ops::ActivationKind::relu};
  graph::BlockSpec stem{.name = "stem", .nodes = {}};
  stem.then("conv", conv3x3(8, 1, false));
  stem.then("norm", ops::BatchNorm{});
  stem.then("relu", relu);

  graph::BlockSpec residual{.name = "residual", .nodes = {}};
  residual.then("conv1", conv3x3(8, 1, false));
  residual.then("norm1", ops::BatchNorm{});
  residual.then("relu1", relu);
  residual.then("conv2", conv3x3(8, 1, false));
  const int norm2 = residual.then("norm2", ops::BatchNorm{});
  residual.join("add", ops::Add{}, {norm2, graph::kBlockInput});
  residual.then("relu2", relu);

  graph::BlockSpec pool{.name = "pool", .nodes = {}};
  pool.then("pool", ops::Pool{});

  graph::BlockSpec preactivation{.name = "preactivation", .nodes = {}};
  preactivation.then("norm1", ops::BatchNorm{});
  const int entry = preactivation.then("relu1", relu);
  preactivation.then("conv1", conv3x3(12, 2, false));
  preactivation.then("norm2", ops::BatchNorm{});
  preactivation.then("relu2", relu);
  const int conv2 = preactivation.then("conv2", conv3x3(12, 1, true));
  const ops::Convolution projection{
      .out_channels = 12, .kernel = {1, 1}, .stride = {2, 2}, .bias = false};
  const int shortcut = preactivation.join("shortcut", projection, {entry});
  preactivation.join("add", ops::Add{}, {conv2, shortcut});

  graph::BlockSpec head{.name = "head", .nodes = {}};
  head.then("pool", ops::GlobalAveragePool{});
  head.then("flatten", ops::Flatten{});
  head.then("linear", ops::Linear{.out_features = 5});
  return {.name = "recorded",
          .input = {3, 8, 8},
          .blocks = {stem, residual, pool, preactivation, head}};
}

struct Loss {
  double value = 0;
  Floats gradient;
};

/// Mean over the batch of log(sum exp z) - z[label].
Loss cross_entropy(const Floats& logits, const std::vector<std::size_t>& labels) {
  const std::size_t classes = logits.size() / labels.size();
  const auto batch = static_cast<double>(labels.size());
  Loss loss{.value = 0, .gradient = Floats(logits.size())};
  for (std::size_t n = 0; n < labels.size(); ++n) {
    double sum = 0;
    for (std::size_t k = 0; k < classes; ++k) sum += std::exp(double{logits[n * classes + k]});
    loss.value += (std::log(sum) - logits[n * classes + labels[n]]) / batch;
    for (std::size_t k = 0; k < classes; ++k) {
      const double probability = std::exp(double{logits[n * classes + k]}) / sum;
      loss.gradient[n * classes + k] =
          static_cast<float>((probability - (k == labels[n] ? 1.0 : 0.0)) / batch);
    }
  }
  return loss;
}

class RecordedNetwork : public testing::TestWithParam<Backend> {
 protected:
  void SetUp() override {
    std::ifstream file(PLAIT_SOURCE_DIR "/tests/kernels/recorded_network.json");
    record_ = json::parse(file, nullptr, false);
    ASSERT_TRUE(record_.is_object()) << "tests/kernels/recorded_network.json cannot be read";
    const graph::ModelSpec model = recorded_model();
    tensor::TensorDesc src = batch_desc(model.input, 8);
    for (const graph::BlockSpec& spec : model.blocks) {
      blocks_.push_back(std::make_unique<BlockRig>(
          spec, src, BlockOptions{.backend = GetParam(), .wants_diff_srcs = {!blocks_.empty()}}));
      src = blocks_.back()->dst_desc();
    }
    for_each_parameter(
        [&](BlockRig& rig, const BlockRig::Parameter& parameter, const std::string& name) {
          rig.set_parameter(parameter, floats_of(record_.at("initial").at(name)));
          velocity_[name] = Floats(count(parameter.spec.shape), 0.0F);
        });
  }

  template <class Visit>
  void for_each_parameter(Visit visit) {
    for (auto& rig : blocks_) {
      for (const BlockRig::Parameter& parameter : rig->parameters()) {
        visit(*rig, parameter, rig->name + "." + parameter.name);
      }
    }
  }

  Floats forward() {
    Floats activation = floats_of(record_.at("images"));
    for (auto& rig : blocks_) activation = rig->forward(activation);
    return activation;
  }

  void backward(Floats gradient) {
    for (std::size_t b = blocks_.size(); b-- > 0;) gradient = blocks_[b]->backward(gradient);
  }

  /// v <- momentum v + (g + decay w);  w <- w - lr v.
  void update() {
    const float rate = record_.at("learning_rate");
    const float momentum = record_.at("momentum");
    const float decay = record_.at("weight_decay");
    for_each_parameter(
        [&](BlockRig& rig, const BlockRig::Parameter& parameter, const std::string& name) {
          if (!parameter.spec.trainable) return;
          Floats weights = rig.parameter(parameter);
          const Floats gradient = rig.gradient(parameter);
          Floats& velocity = velocity_.at(name);
          for (std::size_t i = 0; i < weights.size(); ++i) {
            velocity[i] = momentum * velocity[i] + gradient[i] + decay * weights[i];
            weights[i] -= rate * velocity[i];
          }
          rig.set_parameter(parameter, weights);
        });
  }

  json record_;
  std::vector<std::unique_ptr<BlockRig>> blocks_;
  std::map<std::string, Floats> velocity_;
};

TEST_P(RecordedNetwork, TrainsTenStepsLikePyTorch) {
  const auto labels = record_.at("labels").get<std::vector<std::size_t>>();
  const auto losses = record_.at("losses").get<std::vector<double>>();
  ASSERT_EQ(losses.size(), 10U);
  for (std::size_t step = 0; step < losses.size(); ++step) {
    const Loss loss = cross_entropy(forward(), labels);
    EXPECT_NEAR(loss.value, losses[step], kLossTolerance * losses[step]) << "step " << step;
    backward(loss.gradient);
    if (step == 0) {
      for_each_parameter(
          [&](BlockRig& rig, const BlockRig::Parameter& parameter, const std::string& name) {
            if (!parameter.spec.trainable) return;
            expect_close(rig.gradient(parameter), floats_of(record_.at("gradients").at(name)),
                         kGradientTolerance, "gradient of " + name);
          });
    }
    update();
  }
  std::size_t compared = 0;
  for_each_parameter(
      [&](BlockRig& rig, const BlockRig::Parameter& parameter, const std::string& name) {
        expect_close(rig.parameter(parameter), floats_of(record_.at("final").at(name)),
                     kFinalTolerance, name);
        ++compared;
      });
  EXPECT_EQ(compared, record_.at("final").size());
  for (auto& rig : blocks_) rig->training = false;
  expect_close(forward(), floats_of(record_.at("evaluation")), kFinalTolerance, "logits");
}

INSTANTIATE_TEST_SUITE_P(PyTorch, RecordedNetwork,
                         testing::Values(Backend::reference, Backend::onednn),
                         [](const auto& test) { return to_string(test.param); });

}  // namespace
}  // namespace plait::kernels::layer_testing
