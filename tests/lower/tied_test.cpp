// Weights with several users: where their gradients are added, and what is wrong with plans that do
// not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cost/analytic.hpp"
#include "lower/lower_testing.hpp"
#include "plan/check.hpp"

namespace plait::lower {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

/// Blocks 1 and 2 use the weights of block 0.
plan::Network tied_chain() {
  plan::Network network = chain({2, 2, 2});
  for (plan::NetworkBlock& block : network.blocks) block.spec.name = block.name;
  network.blocks[1].weights_of = network.blocks[2].weights_of = 0;
  return network;
}

plan::Plan on_workers(const std::vector<int>& of, int workers) {
  Schedule schedule = schedule_of(tied_chain(), workers);
  list_pass(schedule, of);
  return lower(std::move(schedule));
}

std::string faults_of(const plan::Plan& plan) {
  std::string text;
  for (const std::string& fault : plan::faults(plan)) text += fault + "\n";
  return text;
}

TEST(LowerTied, OneWorkerAddsThemInTheOrderOfTheNetwork) {
  Schedule schedule = schedule_of(tied_chain(), 1);
  list_pass(schedule, {0, 0, 0}, plan::part_of(0, 2));
  list_pass(schedule, {0, 0, 0}, plan::part_of(1, 2));
  schedule.clip = true;
  const plan::Plan plan = lower(std::move(schedule));
  std::vector<std::string> text = text_of(plan, 0);
  EXPECT_THAT(std::vector(text.begin() + 13, text.end()),
              ElementsAre("forward 1", "forward 2", "loss", "backward_data 2",
                          "backward_weights 2 adds", "backward_data 1", "backward_weights 1 adds",
                          "backward_data 0", "backward_weights 0 adds", "add_gradient 1",
                          "add_gradient 2", "clip", "update 0"));
  EXPECT_THAT(plan::faults(plan), IsEmpty());
}

TEST(LowerTied, OtherWorkersSendTheirsAndReceiveTheWeights) {
  const plan::Plan plan = on_workers({0, 0, 1}, 2);
  EXPECT_THAT(
      text_of(plan, 0),
      ElementsAre("load", "forward 0", "forward 1", "send tensor 2 to 1", "receive diff 2 from 1",
                  "backward_data 1", "backward_weights 1", "backward_data 0", "backward_weights 0",
                  "add_gradient 1", "receive gradient 2 from 1", "add_gradient 2", "update 0",
                  "send weights 0 to 1"));
  EXPECT_THAT(text_of(plan, 1),
              ElementsAre("receive tensor 2 from 0", "forward 2", "load", "loss", "backward_data 2",
                          "send diff 2 to 0", "backward_weights 2", "send gradient 2 to 0",
                          "receive weights 0 from 0"));
  EXPECT_THAT(plan::faults(plan), IsEmpty());
}

TEST(LowerTied, WorkersWithAllUsersReduceOneSum) {
  Schedule schedule = schedule_of(tied_chain(), 2);
  for (int worker = 0; worker < 2; ++worker) {
    list_pass(schedule, {worker, worker, worker}, plan::part_of(worker, 2));
  }
  const plan::Plan plan = lower(std::move(schedule));
  ASSERT_EQ(plan.buckets.size(), 1U);
  EXPECT_THAT(plan.buckets[0].blocks, ElementsAre(0));
  const std::vector<std::string> text = text_of(plan, 1);
  EXPECT_THAT(std::vector(text.end() - 7, text.end()),
              ElementsAre("backward_weights 0", "add_gradient 1", "add_gradient 2",
                          "reduce_start 0", "reduce_sum 0", "reduce_finish 0", "update 0"));
  EXPECT_THAT(plan::faults(plan), IsEmpty());
}

/// Block 0 on both workers, its users on one: each gradient is reduced or sent as a whole.
TEST(LowerTied, OtherwiseGradientsAreCompleteBeforeTheyAreAdded) {
  Schedule schedule = schedule_of(tied_chain(), 3);
  list_pass(schedule, {0, 1, 2}, plan::part_of(0, 2));
  list_pass(schedule, {1, 1, 2}, plan::part_of(1, 2));
  const plan::Plan plan = lower(std::move(schedule));
  const auto tail = [&](int worker, std::ptrdiff_t count) {
    const std::vector<std::string> text = text_of(plan, worker);
    return std::vector(text.end() - count, text.end());
  };
  EXPECT_THAT(tail(0, 8),
              ElementsAre("reduce_sum 0", "reduce_finish 0", "receive gradient 1 from 1",
                          "add_gradient 1", "receive gradient 2 from 2", "add_gradient 2",
                          "update 0", "send weights 0 to 2"));
  EXPECT_THAT(tail(1, 6), ElementsAre("reduce_sum 0", "reduce_finish 0", "add_gradient 1",
                                      "receive gradient 2 from 2", "add_gradient 2", "update 0"));
  EXPECT_THAT(faults_of(plan), testing::IsEmpty());
}

/// The owner on worker 0 alone, its first user on workers 1 and 2.
TEST(LowerTied, OneOfThoseThatShareAUserSendsTheSum) {
  Schedule schedule = schedule_of(tied_chain(), 3);
  list_pass(schedule, {0, 1, 0}, plan::part_of(0, 2));
  list_pass(schedule, {0, 2, 0}, plan::part_of(1, 2));
  const auto cost = cost::make_analytic_cost(schedule.plan.network);
  const Graph graph = derive(schedule, cost.get());
  const plan::Plan plan = lower(std::move(schedule));
  EXPECT_THAT(faults_of(plan), testing::IsEmpty());
  const auto sent = [&](int worker) {
    const std::vector<std::string> text = text_of(plan, worker);
    return std::ranges::count(text, "send gradient 1 to 0");
  };
  EXPECT_EQ(sent(1), 1);
  EXPECT_EQ(sent(2), 0);
  // In a loop the next minibatch's gradient begins when this one has been summed.
  for (int i = 0; i < graph.listed; ++i) {
    const auto* weights = std::get_if<plan::BackwardWeights>(&graph.item(i).task.what);
    if (weights == nullptr || weights->block != 1) continue;
    const int worker = graph.item(i).worker;
    EXPECT_TRUE(std::ranges::any_of(graph.item(i).after,
                                    [&](const Wait& wait) {
                                      const plan::Task& other = graph.item(wait.item).task;
                                      return wait.earlier == 1 &&
                                             graph.item(wait.item).worker == worker &&
                                             plan::kind_of(other) == plan::TaskKind::reduce_finish;
                                    }))
        << "worker " << worker;
  }
}

TEST(LowerTied, AUserThatNobodyAddsIsAFault) {
  Schedule schedule = schedule_of(tied_chain(), 3);
  list_pass(schedule, {0, 1, 0}, plan::part_of(0, 2));
  list_pass(schedule, {0, 2, 0}, plan::part_of(1, 2));
  plan::Plan plan = lower(std::move(schedule));
  std::erase(plan.programs[0].tasks, plan::Task{.what = plan::AddGradient{1}});
  EXPECT_THAT(faults_of(plan), HasSubstr("no worker adds the gradient of block b1 to that of b0"));
}

class TiedFault : public testing::Test {
 protected:
  plan::Plan plan_ = on_workers({0, 0, 1}, 2);
  std::vector<plan::Task>& tasks(int worker) {
    return plan_.programs[static_cast<std::size_t>(worker)].tasks;
  }
};

TEST_F(TiedFault, AGradientThatIsNotAdded) {
  std::erase(tasks(0), plan::Task{.what = plan::AddGradient{1}});
  EXPECT_THAT(faults_of(plan_),
              HasSubstr("makes a gradient of b1, which this worker never adds to its owner's"));
}

TEST_F(TiedFault, AGradientThatIsAddedTwice) {
  tasks(0).insert(tasks(0).begin() + 11, {.what = plan::AddGradient{1}});
  EXPECT_THAT(faults_of(plan_), HasSubstr("the gradient is added twice in a step"));
}

TEST_F(TiedFault, AGradientThatIsAddedTooEarlyOrTooLate) {
  const plan::Plan good = plan_;
  std::swap(tasks(0)[8], tasks(0)[9]);
  EXPECT_THAT(faults_of(plan_), HasSubstr("adds to a gradient of b0 that is not complete"));
  plan_ = good;
  std::swap(tasks(0)[11], tasks(0)[12]);
  EXPECT_THAT(faults_of(plan_), HasSubstr("has completed the gradient"));
}

TEST_F(TiedFault, AGradientOfABlockWithWeightsOfItsOwn) {
  tasks(0).push_back({.what = plan::AddGradient{0}});
  EXPECT_THAT(faults_of(plan_), HasSubstr("the block has weights of its own"));
}

TEST_F(TiedFault, OtherNumbersOfParameters) {
  plan_.network.blocks[2].parameters = 3;
  EXPECT_THAT(faults_of(plan_),
              HasSubstr("block b2 has 3 parameters and uses those of block b0, which has 2"));
}

}  // namespace
}  // namespace plait::lower
