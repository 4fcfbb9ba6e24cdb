// Where time and bytes went, of a trace whose every number is known.
#include "report/breakdown.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/report_testing.hpp"

namespace plait::report {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::SizeIs;

constexpr double kTiny = 1e-9;

TEST(Breakdown, SharesTheStepsOfEveryWorker) {
  const Breakdown found = break_down(two_workers(), two_workers_trace(5));
  EXPECT_EQ(found.steps, 5);
  ASSERT_THAT(found.workers, SizeIs(2));
  const WorkerSeconds& zero = found.workers[0];
  EXPECT_NEAR(zero.forward, 2e-3, kTiny);
  EXPECT_NEAR(zero.update, 1e-3, kTiny);
  EXPECT_NEAR(zero.communication, 1.5e-3, kTiny);
  EXPECT_NEAR(zero.waiting, 0, kTiny);
  EXPECT_NEAR(zero.span, 5e-3, kTiny);
  const WorkerSeconds& one = found.workers[1];
  EXPECT_NEAR(one.waiting, 2e-3, kTiny);
  EXPECT_NEAR(one.compute(), 7e-3, kTiny);
  EXPECT_NEAR(one.span, 9e-3, kTiny);
}

TEST(Breakdown, OfABlockIsOfItsThreeTasks) {
  const Breakdown found = break_down(two_workers(), two_workers_trace(2));
  ASSERT_THAT(found.blocks, SizeIs(2));
  EXPECT_EQ(found.blocks[0].name, "conv1");
  EXPECT_NEAR(found.blocks[0].forward, 2e-3, kTiny);
  EXPECT_NEAR(found.blocks[0].backward_weights, 0, kTiny);
  EXPECT_EQ(found.blocks[1].name, "fc");
  EXPECT_NEAR(found.blocks[1].backward_data, 2e-3, kTiny);
  EXPECT_NEAR(found.blocks[1].backward_weights, 2e-3, kTiny);
}

TEST(Breakdown, CountsTheBytesOfAStepFromWorkerToWorker) {
  const Breakdown found = break_down(two_workers(), two_workers_trace(3));
  EXPECT_THAT(found.bytes[0], ElementsAre(0, DoubleNear(128 + 64, kTiny)));
  EXPECT_THAT(found.bytes[1], ElementsAre(0, 0));
}

TEST(Breakdown, LeavesOutStepsThatOneWorkerHasNot) {
  trace::Trace trace = two_workers_trace(3);
  trace.workers[1].add({.task = 1, .minibatch = 3, .step = 3, .begin = 2, .end = 3});
  const Breakdown found = break_down(two_workers(), trace);
  EXPECT_EQ(found.steps, 3);
  EXPECT_NEAR(found.workers[1].span, 9e-3, kTiny);
}

/// At the end of an epoch an asynchronous pipeline runs empty, and fills again after evaluation:
/// the same steps are played twice.
TEST(Breakdown, WhatPassesBetweenTwoPlaysOfAStepIsNotPartOfIt) {
  trace::Trace trace = two_workers_trace(1);
  const double end = trace.workers[0].events().back().end;
  trace.workers[0].add({.task = 0, .step = 0, .begin = end + 100, .end = end + 100.001, .play = 1});
  const Breakdown found = break_down(two_workers(), trace);
  EXPECT_NEAR(found.workers[0].span, 5e-3 + 1e-3, kTiny);
}

TEST(Breakdown, OfNothingIsEmpty) {
  trace::Trace nothing;
  nothing.workers.resize(2);
  EXPECT_EQ(break_down(two_workers(), nothing).steps, 0);
  EXPECT_THAT(break_down(two_workers(), nothing).workers, SizeIs(0));
}

TEST(Breakdown, PutsPiecesAndRepetitionsToTheirBlock) {
  plan::Plan plan = two_workers();
  plan.network.blocks.push_back(
      {.name = "conv1@1<0", .srcs = {0}, .dst = 1, .whole = 1, .whole_name = "conv1"});
  plan.network.blocks.push_back({.name = "fc again", .srcs = {1}, .dst = 2, .weights_of = 1});
  plan.programs[1].tasks.push_back({.what = plan::Forward{.block = 2}});
  plan.programs[1].tasks.push_back({.what = plan::Forward{.block = 3}});
  trace::Trace trace = two_workers_trace(1);
  trace.workers[1].add({.task = 5, .begin = 1.010, .end = 1.011});
  trace.workers[1].add({.task = 6, .begin = 1.011, .end = 1.012});
  const Breakdown found = break_down(plan, trace);
  ASSERT_THAT(found.blocks, SizeIs(3));
  EXPECT_EQ(found.blocks[0].name, "conv1");  // the model's block 1 is not the plan's
  EXPECT_NEAR(found.blocks[0].forward, 1e-3, kTiny);
  EXPECT_EQ(found.blocks[2].name, "fc");
  EXPECT_NEAR(found.blocks[2].forward, 3e-3, kTiny);  // twice
}

Breakdown computing(const std::vector<double>& seconds) {
  Breakdown found{.steps = 10};
  for (const double one : seconds) found.workers.push_back({.forward = one});
  return found;
}

TEST(Straggler, IsNamedWithItsCost) {
  const auto found = find_straggler(computing({1, 1.1, 2.5, 0.9}), computing({1, 1, 1, 1}));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->worker, 2);
  EXPECT_DOUBLE_EQ(found->compute, 2.5);
  EXPECT_DOUBLE_EQ(found->others, 1);
  EXPECT_DOUBLE_EQ(found->cost(), 1.5);
  EXPECT_DOUBLE_EQ(found->planned.value(), 1);
}

TEST(Straggler, OfThePlansOwnMakingIsToldFromASlowWorker) {
  const auto found = find_straggler(computing({4, 2}), computing({30, 10}));
  ASSERT_TRUE(found);
  EXPECT_DOUBLE_EQ(found->planned.value(), 3);
}

TEST(Straggler, IsNobodyWhereOtherThingsTakeTheTime) {
  Breakdown found = computing({1, 2});
  EXPECT_TRUE(find_straggler(found, {}));
  found.workers[0].span = 20;
  EXPECT_FALSE(find_straggler(found, {}));
}

TEST(Straggler, NeedsTenSteps) {
  Breakdown found = computing({1, 1, 9});
  EXPECT_TRUE(find_straggler(found, {}));
  found.steps = 9;
  EXPECT_FALSE(find_straggler(found, {}));
}

TEST(Straggler, IsNobodyWhoWasSlowInOneStep) {
  Breakdown found = computing({1, 1, 9});
  found.compute_by_step.assign(3, std::vector<double>(10, 1.0));
  found.compute_by_step[2][4] = 81;
  EXPECT_FALSE(find_straggler(found, {}));
  found.compute_by_step[2].assign(10, 9.0);
  EXPECT_TRUE(find_straggler(found, {}));
}

TEST(Straggler, IsNobodyWhoIsALittleSlower) {
  EXPECT_FALSE(find_straggler(computing({1, 1.2}), {}));
  EXPECT_FALSE(find_straggler(computing({1}), {}));
  EXPECT_FALSE(find_straggler({}, {}));
}

}  // namespace
}  // namespace plait::report
