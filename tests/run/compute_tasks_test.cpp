// ComputeTasks: single tasks on memory that the test fills.
#include "run/compute_tasks.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "run/worker_testing.hpp"

namespace plait::run {
namespace {

/// The whole network on one worker, in parts of the minibatch.
plan::Plan serial_plan(int parts) {
  plan::Plan plan = small_plan(1);
  plan.microbatches = parts;
  plan::hand_made::Writer write(plan.programs[0]);
  for (int part = 0; part < parts; ++part) {
    write.with = {.samples = plan::part_of(part, parts), .accumulate = part > 0};
    write.task(plan::TaskKind::load)
        .forward(0, 1)
        .task(plan::TaskKind::loss)
        .backward(plan.network, 1, 0);
  }
  return plan;
}

/// Samples of four equal numbers 1, 2, ..., all of class 1.
void fill(data::Batch& batch) {
  batch.images = tensor::Tensor(tensor::Shape{4, 1, 2, 2});
  batch.targets = tensor::Tensor(tensor::Shape{4, 1});
  for (std::size_t i = 0; i < 16; ++i) batch.images.floats()[i] = 1 + static_cast<float>(i / 4);
  std::ranges::fill(batch.targets.floats(), 1.0F);
}

struct ComputeBench {
  explicit ComputeBench(const plan::Plan& plan)
      : bench(world, plan, {}), batches(plan, 0, fill), tasks(bench.parts(), batches) {
    bench.model.history.begin(0);
    batches.fetch(0, 4);
  }
  /// All tasks of the program up to `last`.
  void play(std::size_t last) {
    for (std::size_t i = 0; i <= last; ++i) {
      const TaskRun at = bench.context.run_of(i, 0);
      switch (plan::kind_of(bench.context.task(at))) {
        case plan::TaskKind::load: tasks.load(at); break;
        case plan::TaskKind::forward: tasks.forward(at); break;
        case plan::TaskKind::loss: loss += tasks.loss(at).sum; break;
        case plan::TaskKind::backward_data: tasks.backward_data(at); break;
        default: tasks.backward_weights(at);
      }
    }
  }
  void play() { play(bench.context.program().tasks.size() - 1); }
  std::span<float> gradient(std::size_t block) {
    return bench.model.parameters.block(block).gradient.floats();
  }

  transport::ThreadWorld world{{}};
  WorkerBench bench;
  BatchRing batches;
  ComputeTasks tasks;
  double loss = 0;
};

TEST(ComputeTasks, MicrobatchesAddUpToTheWholeMinibatch) {
  const plan::Plan whole_plan = serial_plan(1);
  const plan::Plan parts_plan = serial_plan(2);
  ComputeBench whole(whole_plan);
  ComputeBench parts(parts_plan);
  whole.play();
  parts.play();
  EXPECT_GT(whole.loss, 0);
  EXPECT_NEAR(parts.loss, whole.loss, 1e-5);
  for (const std::size_t block : {0U, 1U}) {
    const std::span<float> expected = whole.gradient(block);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      EXPECT_NEAR(parts.gradient(block)[i], expected[i], 1e-5);
    }
  }
  EXPECT_TRUE(std::ranges::any_of(whole.gradient(0), [](float x) { return x != 0; }));
}

TEST(ComputeTasks, ATaskWithoutSamplesBeginsAGradientOfZerosAndAddsNothing) {
  plan::Plan plan = serial_plan(1);
  ComputeBench one(plan);
  TaskRun at = one.bench.run_of(plan::TaskKind::backward_weights);
  at.samples = 0;
  const std::span<float> gradient = one.gradient(1);
  std::get<plan::BackwardWeights>(plan.programs[0].tasks[at.task].what).adds = true;
  std::ranges::fill(gradient, 3.0F);
  one.tasks.backward_weights(at);
  EXPECT_EQ(gradient[0], 3);
  std::get<plan::BackwardWeights>(plan.programs[0].tasks[at.task].what).adds = false;
  one.tasks.backward_weights(at);
  EXPECT_EQ(gradient[0], 0);
}

TEST(ComputeTasks, TheFirstBlockWithANonFiniteResultIsNamed) {
  const plan::Plan plan = serial_plan(1);
  ComputeBench one(plan);
  const TaskRun loss = one.bench.run_of(plan::TaskKind::loss);
  one.play(loss.task - 1);
  EXPECT_EQ(one.tasks.first_non_finite_block(loss), "");
  one.bench.model.parameters.block(1).weights.floats()[0] = NAN;
  EXPECT_EQ(one.tasks.first_non_finite_block(loss), plan.network.blocks[1].name);
  one.bench.model.parameters.block(0).weights.floats()[0] = INFINITY;
  EXPECT_EQ(one.tasks.first_non_finite_block(loss), plan.network.blocks[0].name);
}

}  // namespace
}  // namespace plait::run
