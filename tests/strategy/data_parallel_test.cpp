// Data parallelism: shares of the samples, buckets, and the order that overlaps them with backward.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "plan/check.hpp"
#include "strategy/strategy_testing.hpp"

namespace plait::strategy {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

plan::Machine workers(int count) { return {.workers_per_node = count}; }

TEST(DataParallel, StartsSumsAndFinishesBucketsWhileBackwardRuns) {
  const plan::Network network = four_blocks();
  const plan::Plan plan = make_plan(
      "data_parallel", {.network = network, .machine = workers(2), .batch = 8, .bucket_bytes = 16});
  ASSERT_EQ(plan.buckets.size(), 4U);
  EXPECT_EQ(plan.buckets[0], (plan::Bucket{plan::Payload::state, {0, 2}}));
  EXPECT_EQ(plan.buckets[1], (plan::Bucket{plan::Payload::gradient, {3}}));
  EXPECT_EQ(plan.buckets[2], (plan::Bucket{plan::Payload::gradient, {2}}));
  EXPECT_EQ(plan.buckets[3], (plan::Bucket{plan::Payload::gradient, {0}}));
  EXPECT_THAT(plan.groups, ElementsAre(ElementsAre(0, 1)));
  for (const plan::Program& program : plan.programs) {
    EXPECT_THAT(
        order_of(program),
        ElementsAre("load", "forward 0", "forward 1", "forward 2", "forward 3", "loss",
                    "reduce_start 0", "backward_data 3", "backward_weights 3",  //
                    "reduce_start 1", "reduce_sum 0", "backward_data 2", "backward_weights 2",
                    "reduce_start 2", "reduce_sum 1", "reduce_finish 0", "backward_data 1",
                    "backward_data 0", "backward_weights 0",  //
                    "reduce_start 3", "reduce_sum 2", "reduce_finish 1", "update 3", "reduce_sum 3",
                    "reduce_finish 2", "update 2", "reduce_finish 3", "update 0"));
  }
}

TEST(DataParallel, ClipsWhenAllGradientsAreThere) {
  const plan::Network network = four_blocks();
  const plan::Plan plan = make_plan(
      "data_parallel",
      {.network = network, .machine = workers(3), .batch = 8, .clip = true, .bucket_bytes = 16});
  const std::vector<std::string> order = order_of(plan.programs[2]);
  EXPECT_THAT(std::vector<std::string>(order.end() - 7, order.end()),
              ElementsAre("reduce_sum 3", "reduce_finish 2", "reduce_finish 3", "clip", "update 0",
                          "update 2", "update 3"));
}

TEST(DataParallel, BucketsGrowUntilTheyAreLargeEnough) {
  plan::Network network = four_blocks();
  const auto blocks = [&](std::int64_t bytes, int wire_bytes) {
    const plan::Plan plan = make_plan("data_parallel", {.network = network,
                                                        .machine = workers(2),
                                                        .batch = 8,
                                                        .wire_bytes = wire_bytes,
                                                        .bucket_bytes = bytes});
    std::vector<std::vector<int>> result;
    for (std::size_t i = 1; i < plan.buckets.size(); ++i) result.push_back(plan.buckets[i].blocks);
    return result;
  };
  EXPECT_THAT(blocks(17, 4), ElementsAre(ElementsAre(3, 2), ElementsAre(0)));
  EXPECT_THAT(blocks(16, 2), ElementsAre(ElementsAre(3, 2), ElementsAre(0)));
  EXPECT_THAT(blocks(33, 4), ElementsAre(ElementsAre(3, 2, 0)));
  EXPECT_THAT(blocks(1 << 20, 4), ElementsAre(ElementsAre(3, 2, 0)));
  network.blocks[0].parameters = network.blocks[1].parameters = 4;
  EXPECT_THAT(blocks(32, 4), ElementsAre(ElementsAre(3, 2), ElementsAre(1, 0)));
}

TEST(DataParallel, OneWorkerHasNobodyToAddTo) {
  const plan::Network network = four_blocks();
  const plan::Plan alone = make_plan("data_parallel", {.network = network, .machine = workers(1)});
  const plan::Plan serial = make_plan("serial", {.network = network, .machine = workers(1)});
  EXPECT_EQ(alone.programs[0].tasks, serial.programs[0].tasks);
  EXPECT_TRUE(alone.buckets.empty());
}

TEST(DataParallel, RefusesMoreWorkersThanSamples) {
  const plan::Network network = four_blocks();
  EXPECT_THAT(refusal("data_parallel", {.network = network, .machine = workers(8), .batch = 4}),
              AllOf(HasSubstr("`workers` 8 are more than the plan can use: `batch` 4 has only 4 "
                              "samples"),
                    HasSubstr("use at most 4 workers or a `batch` of at least 8")));
  EXPECT_THAT(refusal("data_parallel",
                      {.network = network, .machine = workers(2), .batch = 4, .microbatches = 5}),
              HasSubstr("use a `batch` of at least 10"));
}

/// What one program does with every block and bucket, counted.
void check_program(const plan::Plan& plan, int worker, std::vector<int>& taken) {
  std::map<std::pair<plan::TaskKind, int>, int> count;
  for (const plan::Task& task : plan.programs[static_cast<std::size_t>(worker)].tasks) {
    const auto* reduce = std::get_if<plan::Reduce>(&task.what);
    ++count[{plan::kind_of(task), reduce != nullptr ? reduce->bucket : plan::block_of(task)}];
    if (!plan::is<plan::Load>(task)) continue;
    const plan::Samples samples = plan::samples_of(task);
    for (std::int64_t i = samples.first(plan.batch); i < samples.last(plan.batch); ++i) {
      ++taken.at(static_cast<std::size_t>(i));
    }
  }
  for (int i = 0; i < plan.network.size(); ++i) {
    const bool learns = plan.network.blocks[static_cast<std::size_t>(i)].parameters > 0;
    EXPECT_EQ((count[{plan::TaskKind::forward, i}]), plan.microbatches);
    EXPECT_EQ((count[{plan::TaskKind::backward_weights, i}]), learns ? plan.microbatches : 0);
    EXPECT_EQ((count[{plan::TaskKind::update, i}]), learns ? 1 : 0);
  }
  for (int i = 0; i < static_cast<int>(plan.buckets.size()); ++i) {
    EXPECT_EQ((count[{plan::TaskKind::reduce_start, i}]), 1);
    EXPECT_EQ((count[{plan::TaskKind::reduce_sum, i}]), 1);
    EXPECT_EQ((count[{plan::TaskKind::reduce_finish, i}]), 1);
  }
}

class DataParallelPlans : public testing::TestWithParam<std::string> {};

TEST_P(DataParallelPlans, PassTheCheckAndCoverEverySampleAndGradientOnce) {
  const plan::Network network = network_of(GetParam());
  for (int count = 1; count <= 9; ++count) {
    for (int parts = 1; parts <= 3; ++parts) {
      const plan::Plan plan = make_plan("data_parallel", {.network = network,
                                                          .machine = workers(count),
                                                          .batch = 29,
                                                          .microbatches = parts,
                                                          .clip = parts == 2,
                                                          .bucket_bytes = 1 << 20});
      EXPECT_TRUE(plan::faults(plan).empty());
      EXPECT_EQ(plan::staleness(plan), std::vector<int>(network.blocks.size(), 0));
      std::vector<int> taken(29);
      for (int worker = 0; worker < count; ++worker) check_program(plan, worker, taken);
      EXPECT_EQ(taken, std::vector<int>(29, 1)) << count << " workers";
      if (count == 1) continue;
      std::vector<int> gradients(network.blocks.size());
      std::vector<int> states(network.blocks.size());
      for (const plan::Bucket& bucket : plan.buckets) {
        for (const int block : bucket.blocks) {
          ++(bucket.payload == plan::Payload::gradient ? gradients : states)
                .at(static_cast<std::size_t>(block));
        }
      }
      for (std::size_t i = 0; i < network.blocks.size(); ++i) {
        EXPECT_EQ(gradients[i], network.blocks[i].parameters > 0 ? 1 : 0);
        EXPECT_EQ(states[i], network.blocks[i].state > 0 ? 1 : 0);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Zoo, DataParallelPlans,
                         testing::Values("linear", "mlp", "lenet", "vgg11", "vgg16", "resnet20",
                                         "resnet18", "resnet50", "preresnet29", "resnet164"),
                         [](const auto& one) { return one.param; });

TEST(DataParallel, OfALongNetworkPassesTheCheckToo) {
  const plan::Network network = network_of("resnet1001");
  EXPECT_NO_THROW(make_plan("data_parallel", {.network = network, .machine = workers(3)}));
  EXPECT_NO_THROW(make_plan(
      "serial", {.network = network, .machine = workers(1), .batch = 64, .microbatches = 2}));
}

}  // namespace
}  // namespace plait::strategy
