// The serial strategy: the order of its tasks, and what it refuses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "strategy/strategy_testing.hpp"

namespace plait::strategy {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

const plan::Machine kOne{};

TEST(Serial, IsThePlainestOrder) {
  const plan::Network network = four_blocks();
  const plan::Plan plan = make_plan("serial", {.network = network, .machine = kOne, .batch = 8});
  EXPECT_THAT(order_of(plan.programs.at(0)),
              ElementsAre("load", "forward 0", "forward 1", "forward 2", "forward 3", "loss",
                          "backward_data 3", "backward_weights 3", "backward_data 2",
                          "backward_weights 2", "backward_data 1", "backward_data 0",
                          "backward_weights 0", "update 0", "update 2", "update 3"));
  EXPECT_EQ(plan.strategy, "serial");
  EXPECT_TRUE(plan.groups.empty());
  EXPECT_TRUE(plan.buckets.empty());
  EXPECT_EQ(plan.depth(), 0);
  EXPECT_EQ(plan::staleness(plan), std::vector<int>(4, 0));
}

TEST(Serial, TheFirstBlockGetsNoBackwardIfItHasNothingToLearn) {
  plan::Network network = four_blocks();
  network.blocks[0].parameters = 0;
  network.blocks[0].state = 0;
  const plan::Plan plan = make_plan("serial", {.network = network, .machine = kOne, .batch = 8});
  EXPECT_THAT(order_of(plan.programs.at(0)),
              AllOf(testing::Contains("backward_data 1"),
                    testing::Not(testing::Contains("backward_data 0"))));
}

TEST(Serial, MicrobatchesAddUpTheirGradients) {
  const plan::Network network = four_blocks();
  const plan::Plan plan = make_plan(
      "serial", {.network = network, .machine = kOne, .batch = 8, .microbatches = 3, .clip = true});
  const std::vector<plan::Task>& tasks = plan.programs.at(0).tasks;
  std::int64_t samples = 0;
  int clips = 0;
  for (const plan::Task& task : tasks) {
    if (plan::is<plan::Load>(task)) samples += plan::samples_of(task).count(plan.batch);
    clips += plan::is<plan::Clip>(task) ? 1 : 0;
    if (const auto* backward = std::get_if<plan::BackwardWeights>(&task.what)) {
      EXPECT_EQ(backward->adds, backward->samples.begin > 0);
    }
    if (const auto* forward = std::get_if<plan::Forward>(&task.what)) {
      EXPECT_EQ(forward->moves_state, forward->samples.begin == 0);
    }
    if (plan::is<plan::Clip>(task) || plan::is<plan::Update>(task)) continue;
    EXPECT_EQ(plan::samples_of(task).of, 3);
  }
  EXPECT_EQ(samples, 8);
  EXPECT_EQ(clips, 1);
  const std::vector<std::string> order = order_of(plan.programs.at(0));
  EXPECT_THAT(std::vector<std::string>(order.end() - 4, order.end()),
              ElementsAre("clip", "update 0", "update 2", "update 3"));
}

TEST(Serial, RefusesMoreThanOneWorkerAndSaysWhatToDo) {
  const plan::Network network = four_blocks();
  EXPECT_THAT(
      refusal("serial", {.network = network, .machine = {.nodes = 2, .workers_per_node = 3}}),
      AllOf(HasSubstr("not for 6 (2 nodes x 3)"), HasSubstr("`workers` 1"),
            HasSubstr("data_parallel")));
  EXPECT_THAT(
      refusal("serial", {.network = network, .machine = kOne, .batch = 2, .microbatches = 3}),
      HasSubstr("`microbatches` 3 are more than the 2 samples of `batch`: use at most 2"));
}

TEST(Strategies, AreKnownByNameAndRefusedOtherwise) {
  EXPECT_THAT(
      strategy_names(),
      ElementsAre("serial", "data_parallel", "layerpipe", "layerpipe-replicated", "gpipe", "1f1b",
                  "1f1b-interleaved", "pipedream", "pipedream-replicated", "pipedream-2bw", "zb-h1",
                  "zb-h2", "zb-v", "sparse_rows", "parareal", "daso", "local_sgd", "diloco"));
  for (const Strategy& strategy : strategies()) EXPECT_FALSE(strategy.about.empty());
  const plan::Network network = four_blocks();
  EXPECT_THAT(
      refusal("data_paralel", {.network = network, .machine = kOne}),
      AllOf(HasSubstr("`strategy` data_paralel is no strategy (did you mean 'data_parallel'?)"),
            HasSubstr("known: serial, data_parallel, layerpipe, ")));
}

TEST(Strategies, RefuseRequestsThatMakeNoSense) {
  const plan::Network network = four_blocks();
  const plan::Network nothing{};
  EXPECT_THAT(refusal("serial", {.network = nothing, .machine = kOne}), HasSubstr("no blocks"));
  EXPECT_THAT(refusal("serial", {.network = network, .machine = {.nodes = 0}}), HasSubstr("0"));
  EXPECT_THAT(refusal("serial", {.network = network, .machine = kOne, .batch = 0}),
              HasSubstr("`batch` 0"));
  EXPECT_THAT(refusal("serial", {.network = network, .machine = kOne, .microbatches = 0}),
              HasSubstr("`microbatches` 0"));
  EXPECT_THAT(refusal("serial", {.network = network, .machine = kOne, .wire_bytes = 3}),
              HasSubstr("3 bytes"));
  EXPECT_THAT(refusal("serial", {.network = network, .machine = kOne, .bucket_bytes = 0}),
              HasSubstr("0 bytes"));
}

}  // namespace
}  // namespace plait::strategy
