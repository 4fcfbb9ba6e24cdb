// Updates: SGD with the learning rate of the minibatch, clipping, decay and staleness.
#include "run/updates.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "run/worker_testing.hpp"

namespace plait::run {
namespace {

/// The change of the first weight of block 1 by one update with gradient 1 everywhere.
class UpdatesTest : public testing::Test {
 protected:
  float change(const WorkerOptions& options, bool clips = false) {
    plan::Plan plan = plan_;
    plan::hand_made::Writer write(plan.programs[0]);
    if (clips) write.task(plan::TaskKind::clip);
    write.task(plan::TaskKind::backward_weights, 1).update(1);
    transport::ThreadWorld world({});
    WorkerBench bench(world, plan, options);
    Updates updates(bench.context, bench.model);
    bench.model.history.begin(0);
    BlockMemory& block = bench.model.parameters.block(1);
    std::ranges::fill(block.gradient.floats(), 1.0F);
    const float before = block.weights.floats()[0] = 2;
    count_ = block.weights.floats().size();
    if (clips) updates.clip(bench.run_of(plan::TaskKind::clip));
    updates.update(bench.run_of(plan::TaskKind::update));
    return block.weights.floats()[0] - before;
  }

  plan::Plan plan_ = small_plan(1);
  std::size_t count_ = 0;
};

TEST_F(UpdatesTest, StepAgainstTheGradient) { EXPECT_EQ(change({}), -1); }

TEST_F(UpdatesTest, MultiplyByTheInverseShareOfTheSamples) {
  plan_.programs[0].averages = {0, 1, 2};  // the gradient is over twice as many samples
  EXPECT_EQ(change({}), -2);
}

TEST_F(UpdatesTest, AddTheDecay) { EXPECT_EQ(change({.weight_decay = 0.25}), -1.5F); }

TEST_F(UpdatesTest, ClipByTheNorm) {
  EXPECT_EQ(change({.clip_norm = 1e6}, true), -1);
  const float clipped = change({.clip_norm = 0.5}, true);
  EXPECT_NEAR(clipped, -0.5 / std::sqrt(static_cast<double>(count_)), 1e-4);
}

TEST_F(UpdatesTest, ScaleTheRateOfStaleWeights) {
  plan::hand_made::Writer write(plan_.programs[0]);
  write.with.delay = 3;
  write.forward(1, 1);
  EXPECT_EQ(change({}), -1);
  EXPECT_EQ(change({.stale_lr = 0.5}), -0.5F);
}

}  // namespace
}  // namespace plait::run
