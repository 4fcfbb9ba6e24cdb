// Adam makes steps of full length out of gradients of any size: weights whose gradient is exactly
// zero must not move, and the fast kernels must end where plain loops do.
#include <gtest/gtest.h>

#include <cmath>

#include "base/rng.hpp"
#include "graph/model_file.hpp"
#include "run/solo_worker.hpp"
#include "strategy/strategy.hpp"

namespace plait::run {
namespace {

constexpr std::int64_t kZerosBatch = 12;

/// 5x5 taps on images of 2x2: the outer ones only meet padding.
constexpr const char* kModel = R"([[block]]
name = "a"
layers = [{type = "convolution", out = 16, kernel = 1}, {type = "relu"}]
[[block]]
name = "b"
layers = [{type = "convolution", out = 16, kernel = 5, padding = 2}, {type = "tanh"}]
[[block]]
name = "head"
layers = [{type = "flatten"}, {type = "linear", out = "classes"}]
)";

std::vector<checkpoint::NamedTensor> trained(kernels::Backend backend, int steps) {
  const plan::Network network =
      plan::make_network(graph::parse_model(kModel, "taps.toml", {3, 2, 2}, 10));
  const plan::Machine machine;
  SoloWorker worker(
      strategy::make_plan(
          "serial",
          {.network = network, .machine = machine, .batch = kZerosBatch, .optimizer_states = 2}),
      {.backend = backend, .seed = 3, .optimizer = {.kind = "adam"}});
  data::Batch batch;
  batch.images = tensor::Tensor(tensor::Shape{kZerosBatch, 3, 2, 2});
  batch.targets = tensor::Tensor(tensor::Shape{kZerosBatch, 1});
  Rng rng(7, Purpose::test);
  for (float& x : batch.images.floats()) x = rng.normal();
  for (float& x : batch.targets.floats()) x = static_cast<float>(rng.below(10));
  for (int step = 0; step < steps; ++step) worker.step(batch, 1e-3);
  return worker.parameters().export_weights();
}

TEST(AdamZeros, TwentyStepsEndWherePlainLoopsDo) {
  const std::vector<checkpoint::NamedTensor> before = trained(kernels::Backend::onednn, 0);
  const std::vector<checkpoint::NamedTensor> plain = trained(kernels::Backend::reference, 20);
  const std::vector<checkpoint::NamedTensor> fast = trained(kernels::Backend::onednn, 20);
  ASSERT_EQ(fast.size(), plain.size());
  int still = 0;
  for (std::size_t t = 0; t < plain.size(); ++t) {
    for (std::size_t i = 0; i < plain[t].tensor.floats().size(); ++i) {
      const float expected = plain[t].tensor.floats()[i];
      ASSERT_NEAR(fast[t].tensor.floats()[i], expected, 1e-4) << plain[t].name << " " << i;
      if (expected != before[t].tensor.floats()[i]) continue;
      ++still;
      ASSERT_EQ(fast[t].tensor.floats()[i], expected) << plain[t].name << " " << i;
    }
  }
  EXPECT_GE(still, 16 * 16 * 16) << "no taps that only meet padding";
}

}  // namespace
}  // namespace plait::run
