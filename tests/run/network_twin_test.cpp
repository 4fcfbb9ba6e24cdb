// Whole networks: the fast chain against the plain-loop chain, gradients of every parameter.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cmath>

#include "base/rng.hpp"
#include "graph/zoo.hpp"
#include "run/solo_worker.hpp"
#include "strategy/strategy.hpp"

namespace plait::run {
namespace {

struct Case {
  std::string model;
  tensor::Shape input;
  std::int64_t batch;
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.model << " on " << c.input.to_string(); }

class NetworkTwin : public testing::TestWithParam<Case> {};

data::Batch random_batch(const Case& c) {
  data::Batch batch;
  batch.images = tensor::Tensor(c.input.with_front(c.batch));
  const bool pixels = c.model.starts_with("unet");
  batch.targets = tensor::Tensor(tensor::Shape{c.batch, pixels ? c.input[1] * c.input[2] : 1});
  Rng rng(7, Purpose::test);
  for (float& x : batch.images.floats()) x = rng.normal();
  for (float& x : batch.targets.floats()) x = static_cast<float>(rng.below(10));
  return batch;
}

struct Gradients {
  double loss = 0;
  std::vector<checkpoint::NamedTensor>
      values;  ///< weights minus lr x gradient, which is what the store exports
};

Gradients one_step(const Case& c, kernels::Backend backend, int threads) {
  const plan::Network network = plan::make_network(graph::make_model(c.model, c.input, 10));
  const plan::Machine machine;
  SoloWorker worker(
      strategy::make_plan("serial", {.network = network, .machine = machine, .batch = c.batch}),
      {.threads = threads, .backend = backend, .seed = 3});
  Gradients result;
  result.loss = worker.step(random_batch(c), 1.0).sum;
  result.values = worker.parameters().export_weights();
  return result;
}

TEST_P(NetworkTwin, GradientsAgree) {
  const Gradients plain = one_step(GetParam(), kernels::Backend::reference, 1);
  for (int threads : {1, 2}) {
    const Gradients fast = one_step(GetParam(), kernels::Backend::onednn, threads);
    EXPECT_NEAR(fast.loss, plain.loss, 2e-4 * std::abs(plain.loss));
    ASSERT_EQ(fast.values.size(), plain.values.size());
    for (std::size_t i = 0; i < plain.values.size(); ++i) {
      const auto a = plain.values[i].tensor.floats();
      const auto b = fast.values[i].tensor.floats();
      ASSERT_EQ(a.size(), b.size());
      double error = 0;
      double size = 0;
      for (std::size_t k = 0; k < a.size(); ++k) {
        error += std::pow(double{a[k]} - double{b[k]}, 2);
        size += std::pow(double{a[k]}, 2);
      }
      EXPECT_LE(std::sqrt(error), 5e-3 * std::sqrt(size) + 1e-4)
          << plain.values[i].name << " with " << threads << " thread(s)";
    }
  }
}

TEST_P(NetworkTwin, EqualBitsTwice) {
  const Gradients first = one_step(GetParam(), kernels::Backend::onednn, 2);
  const Gradients second = one_step(GetParam(), kernels::Backend::onednn, 2);
  EXPECT_EQ(first.loss, second.loss);
  for (std::size_t i = 0; i < first.values.size(); ++i) {
    const auto a = first.values[i].tensor.floats();
    const auto b = second.values[i].tensor.floats();
    EXPECT_TRUE(std::equal(a.begin(), a.end(), b.begin())) << first.values[i].name;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Zoo, NetworkTwin,
    testing::Values(Case{"mlp:40-30", {1, 9, 9}, 5}, Case{"lenet", {1, 28, 28}, 4},
                    Case{"vgg11", {3, 32, 32}, 3}, Case{"resnet20", {3, 16, 16}, 3},
                    Case{"preresnet29", {3, 16, 16}, 3}, Case{"squeezenet", {3, 32, 32}, 3},
                    Case{"unet:4", {3, 32, 32}, 3}),
    [](const auto& test) {
      std::string name = test.param.model;
      for (char& c : name) {
        if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
      }
      return name;
    });

}  // namespace
}  // namespace plait::run
