// Reductions by hand: one bucket, two that overlap, and the whole strategy on unequal links.
#include <gtest/gtest.h>

#include "simulate/made_up.hpp"
#include "simulate/simulate.hpp"
#include "strategy/strategy.hpp"

namespace plait::simulate {
namespace {

/// A bucket of 100 parameters is 400 bytes: two members exchange shards of 200 in 20 + 2 s between
/// nodes, in 2 + 1 s inside one.
plan::Machine unequal_links(int nodes, int workers_per_node) {
  return {.nodes = nodes,
          .workers_per_node = workers_per_node,
          .inside = {.bytes_per_second = 100, .latency_seconds = 1},
          .between = {.bytes_per_second = 10, .latency_seconds = 2}};
}

std::vector<plan::Task> with_reduction(int block) {
  return {forward(block), reduce(plan::Move::start), reduce(plan::Move::sum),
          reduce(plan::Move::finish), update(0)};
}

plan::Plan one_bucket(const plan::Machine& on) {
  plan::Plan plan = empty_plan_of(2, on);
  std::vector<int>& all = plan.groups.emplace_back();
  plan.buckets = {{.payload = plan::Payload::gradient, .blocks = {0}}};
  for (int worker = 0; worker < plan.workers(); ++worker) {
    all.push_back(worker);
    plan.programs[static_cast<std::size_t>(worker)].tasks = with_reduction(worker % 2);
  }
  return plan;
}

const std::vector<cost::BlockSeconds> kSeconds{{1, 1, 1, 0.5}, {3, 1, 1, 0.5}};

TEST(SimulateReduction, MembersWaitForTheLastAndForTheSlowest) {
  // Sums at 100 bytes a second: two shards of 200 bytes in 4 s, a copy of one in 2 s.
  const Simulation result =
      simulate(one_bucket(unequal_links(2, 1)), FixedCost(kSeconds, 0.01), {.minibatches = 1});
  // Started at 3, exchanged at 25, summed at 29, gathered at 51, copied at 53.
  EXPECT_DOUBLE_EQ(result.seconds, 53.5);
  EXPECT_EQ(result.bytes_per_step, 4 * 200);
  EXPECT_EQ(result.messages_per_step, 4);
  const trace::Totals& early = result.trace.workers[0].totals();
  EXPECT_DOUBLE_EQ(early.wait, 24 + 22);
  EXPECT_DOUBLE_EQ(early.communicate, 4 + 2);
  EXPECT_DOUBLE_EQ(early.compute, 1.5);
  EXPECT_DOUBLE_EQ(result.trace.workers[1].totals().wait, 22 + 22);
}

TEST(SimulateReduction, AllMembersOfANodeShareItsWays) {
  const Simulation result =
      simulate(one_bucket(unequal_links(2, 2)), FixedCost(kSeconds), {.minibatches = 1});
  // Shards of 100 bytes; 2 x 2 of them over each way: 40 + 2 s, twice.
  EXPECT_DOUBLE_EQ(result.seconds, 3 + 42 + 42 + 0.5);
  EXPECT_EQ(result.bytes_per_step, 2 * 4 * 3 * 100);
  EXPECT_EQ(result.messages_per_step, 2 * 4 * 3);
}

TEST(SimulateReduction, OneMemberAloneHasNothingToSend) {
  const Simulation result =
      simulate(one_bucket(unequal_links(1, 1)), FixedCost(kSeconds, 0.01), {.minibatches = 1});
  EXPECT_DOUBLE_EQ(result.seconds, 1.5);
  EXPECT_EQ(result.bytes_per_step, 0);
  EXPECT_EQ(result.messages_per_step, 0);
}

TEST(SimulateReduction, ShardsOfNothingAreNoMessages) {
  // 100 numbers are 7 units of 16: 7 of 20 members get a shard.
  const Simulation result =
      simulate(one_bucket(unequal_links(1, 20)), FixedCost(kSeconds), {.minibatches = 1});
  EXPECT_EQ(result.messages_per_step, 2 * 7 * 19);
  EXPECT_EQ(result.bytes_per_step, 2 * 19 * 400);
}

TEST(SimulateReduction, HalfTheBytesTakeHalfTheTime) {
  plan::Plan plan = one_bucket(unequal_links(2, 1));
  plan.wire_bytes = 2;
  const Simulation result = simulate(plan, FixedCost(kSeconds), {.minibatches = 1});
  EXPECT_DOUBLE_EQ(result.seconds, 3 + 12 + 12 + 0.5);
  EXPECT_EQ(result.bytes_per_step, 4 * 100);
  // Running statistics always travel as fp32.
  plan.buckets[0].payload = plan::Payload::state;
  plan.network.blocks[0].state = 100;
  const Simulation state = simulate(plan, FixedCost(kSeconds), {.minibatches = 1});
  EXPECT_DOUBLE_EQ(state.seconds, 3 + 22 + 22 + 0.5);
  EXPECT_EQ(state.bytes_per_step, 4 * 200);
}

TEST(SimulateReduction, MayBeUnderWayForSeveralSteps) {
  plan::Plan plan = one_bucket(unequal_links(2, 1));
  for (plan::Program& program : plan.programs) {
    plan::Task sum = reduce(plan::Move::sum);
    plan::Task finish = reduce(plan::Move::finish);
    sum.when.offset = 1;
    finish.when.offset = 2;
    program.tasks = {forward(0), finish, update(0, 2), sum, reduce(plan::Move::start)};
  }
  const FixedCost slow({{.forward = 100, .update = 1}, {}});
  const Simulation result = simulate(plan, slow, {.minibatches = 6});
  // Hidden behind forward. When that has come to its end, at 604 s, the last but one is gathered at
  // 626 and updated, the last one exchanged at 646 (on the ways behind it), gathered at 668.
  EXPECT_DOUBLE_EQ(result.step_seconds, 101);
  EXPECT_DOUBLE_EQ(result.seconds, 669);
  EXPECT_DOUBLE_EQ(result.trace.workers[0].totals().wait, 22 + 19 + 22);
  EXPECT_EQ(result.trace.workers[0].totals().bytes, 6 * 400);
}

/// One sample for each of two workers, every block a bucket of its own.
Simulation data_parallel(const plan::Machine& on, const FixedCost& cost) {
  const plan::Network network = chain_of(2);
  const plan::Plan plan = strategy::make_plan(
      "data_parallel", {.network = network, .machine = on, .batch = 2, .bucket_bytes = 1});
  return simulate(plan, cost, {.minibatches = 1});
}

TEST(SimulateReduction, DataParallelBetweenNodesWaitsForItsWays) {
  // Bucket 0 started at 4, on the ways until 24, there at 26; bucket 1 started at 6, on the ways
  // until 44, there at 46. Sums back: 44 to 64, there at 66; 64 to 84, there at 86.
  const Simulation result =
      data_parallel(unequal_links(2, 1), FixedCost({{1, 1, 1, 0.5}, {1, 1, 1, 0.5}}));
  EXPECT_DOUBLE_EQ(result.seconds, 86.5);
  EXPECT_EQ(result.bytes_per_step, 2 * 4 * 200);
  EXPECT_EQ(result.messages_per_step, 2 * 4);
}

TEST(SimulateReduction, DataParallelInsideANodeHidesMostOfIt) {
  // Bucket 0: 4 to 7, back 7 to 10; bucket 1: 6 to 9, back 9 to 12.
  const Simulation result =
      data_parallel(unequal_links(1, 2), FixedCost({{1, 1, 1, 0.5}, {1, 1, 1, 0.5}}));
  EXPECT_DOUBLE_EQ(result.seconds, 12.5);
}

}  // namespace
}  // namespace plait::simulate
