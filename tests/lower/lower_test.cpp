// What lowering inserts: loads, messages, sums, clipping and updates, each at its place.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cost/analytic.hpp"
#include "lower/lower_testing.hpp"
#include "plan/check.hpp"

namespace plait::lower {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::IsEmpty;

TEST(Lower, OneWorkerLoadsFirstAndUpdatesLast) {
  Schedule schedule = schedule_of(chain({2, 3}), 1);
  list_pass(schedule, {0, 0}, plan::part_of(0, 2));
  list_pass(schedule, {0, 0}, plan::part_of(1, 2));
  schedule.clip = true;
  const plan::Plan plan = lower(std::move(schedule));
  EXPECT_THAT(
      text_of(plan, 0),
      ElementsAre("load", "forward 0", "forward 1", "loss", "backward_data 1", "backward_weights 1",
                  "backward_data 0", "backward_weights 0", "load", "forward 0", "forward 1", "loss",
                  "backward_data 1", "backward_weights 1 adds", "backward_data 0",
                  "backward_weights 0 adds", "clip", "update 0", "update 1"));
  EXPECT_THAT(plan.groups, IsEmpty());
}

TEST(Lower, ValuesTravelToTheWorkersThatReadThem) {
  Schedule schedule = schedule_of(chain({2, 3}), 2);
  list_pass(schedule, {0, 1});
  schedule.half_messages = true;
  const plan::Plan plan = lower(std::move(schedule));
  EXPECT_THAT(text_of(plan, 0), ElementsAre("load", "forward 0", "send tensor 1 to 1 half",
                                            "receive diff 1 from 1 half", "backward_data 0",
                                            "backward_weights 0", "update 0"));
  EXPECT_THAT(text_of(plan, 1), ElementsAre("receive tensor 1 from 0 half", "forward 1", "load",
                                            "loss", "backward_data 1", "send diff 1 to 0 half",
                                            "backward_weights 1", "update 1"));
  EXPECT_THAT(plan::faults(plan), IsEmpty());
}

TEST(Lower, ResultsCanLeaveLater) {
  Schedule schedule = schedule_of(chain({2, 3}), 2);
  list_pass(schedule, {0, 1});
  schedule.items[3].sent_behind = 4;  // backward_data 1 and its backward_weights
  EXPECT_THAT(text_of(lower(std::move(schedule)), 1),
              ElementsAre("receive tensor 1 from 0", "forward 1", "load", "loss", "backward_data 1",
                          "backward_weights 1", "send diff 1 to 0", "update 1"));
}

TEST(Lower, AListedLoadStaysWhereItIs) {
  Schedule schedule = schedule_of(chain({2, 3}), 2);
  list(schedule, 1, plan::Load{});
  list_pass(schedule, {0, 1});
  EXPECT_THAT(text_of(lower(std::move(schedule)), 1),
              ElementsAre("load", "receive tensor 1 from 0", "forward 1", "loss", "backward_data 1",
                          "send diff 1 to 0", "backward_weights 1", "update 1"));
}

Schedule shared_schedule() {
  plan::Network network = chain({2, 3, 4});
  network.blocks[1].state = 5;
  Schedule schedule = schedule_of(std::move(network), 2);
  for (int worker = 0; worker < 2; ++worker) {
    list_pass(schedule, {worker, worker, worker}, plan::part_of(worker, 2));
  }
  schedule.bucket_bytes = 4;
  return schedule;
}

TEST(Lower, SharedGradientsAreSummedWhileBackwardRuns) {
  const plan::Plan plan = lower(shared_schedule());
  const std::vector<std::string> expected{"load",
                                          "forward 0",
                                          "forward 1",
                                          "forward 2",
                                          "loss",
                                          "reduce_start 0",
                                          "backward_data 2",
                                          "backward_weights 2",
                                          "reduce_start 1",
                                          "reduce_sum 0",
                                          "backward_data 1",
                                          "backward_weights 1",
                                          "reduce_start 2",
                                          "reduce_sum 1",
                                          "reduce_finish 0",
                                          "backward_data 0",
                                          "backward_weights 0",
                                          "reduce_start 3",
                                          "reduce_sum 2",
                                          "reduce_finish 1",
                                          "update 2",
                                          "reduce_sum 3",
                                          "reduce_finish 2",
                                          "update 1",
                                          "reduce_finish 3",
                                          "update 0"};
  EXPECT_THAT(text_of(plan, 0), ElementsAreArray(expected));
  EXPECT_THAT(text_of(plan, 1), ElementsAreArray(expected));
  EXPECT_THAT(plan.groups, ElementsAre(ElementsAre(0, 1)));
  ASSERT_EQ(plan.buckets.size(), 4U);
  EXPECT_EQ(plan.buckets[0].payload, plan::Payload::state);
  EXPECT_THAT(plan::faults(plan), IsEmpty());
}

TEST(Lower, ClippingWaitsForAllSums) {
  Schedule schedule = shared_schedule();
  schedule.clip = true;
  const std::vector<std::string> lines = text_of(lower(std::move(schedule)), 1);
  const std::vector<std::string> end(lines.end() - 5, lines.end());
  EXPECT_THAT(end, ElementsAre("reduce_finish 3", "clip", "update 0", "update 1", "update 2"));
}

TEST(Lower, StatisticsOfOneWorkerAreNotSummed) {
  Schedule schedule = shared_schedule();
  for (Item& item : schedule.items) {
    auto* forward = std::get_if<plan::Forward>(&item.task.what);
    if (forward != nullptr && item.worker == 1) forward->moves_state = false;
  }
  for (const plan::Bucket& bucket : lower(std::move(schedule)).buckets) {
    EXPECT_EQ(bucket.payload, plan::Payload::gradient);
  }
}

TEST(Lower, WorkersThatOnlyReadWeightsReceiveThem) {
  Schedule schedule = schedule_of(chain({2, 3}), 2);
  list_pass(schedule, {0, 0});
  schedule.items[4].worker = 1;  // backward_weights 1
  const plan::Plan plan = lower(std::move(schedule));
  EXPECT_THAT(text_of(plan, 1), ElementsAre("receive tensor 1 from 0", "receive diff 2 from 0",
                                            "receive saved 1 from 0", "backward_weights 1",
                                            "update 1", "send weights 1 to 0"));
  EXPECT_THAT(text_of(plan, 0).back(), "receive weights 1 from 1");
  EXPECT_THAT(plan::faults(plan), IsEmpty());
}

TEST(Lower, WhatBackwardReadsTravelsAsTheTraitsSay) {
  plan::Network network = chain({2, 3});
  network.blocks[1].traits = {.weights_read_src = false, .weights_read_pending = true};
  Schedule schedule = schedule_of(std::move(network), 2);
  list_pass(schedule, {0, 0});
  schedule.items[4].worker = 1;  // backward_weights 1
  const plan::Plan plan = lower(std::move(schedule));
  EXPECT_THAT(text_of(plan, 1), ElementsAre("receive diff 2 from 0", "receive saved 1 from 0",
                                            "receive pending 1 from 0", "backward_weights 1",
                                            "update 1", "send weights 1 to 0"));
  EXPECT_THAT(plan::faults(plan), IsEmpty());
}

/// Worker 1 reads rows of tensor 1, which worker 0 has, as its tensor 2.
TEST(Lower, RowsTravelAndTheirGradientsAreAdded) {
  plan::Network network{.name = "rows", .blocks = {}, .tensors = {4, 4, 2, 3, 3}, .input = {4}};
  network.blocks = {{.name = "a", .srcs = {0}, .dst = 1, .parameters = 1},
                    {.name = "b", .srcs = {1}, .dst = 3, .parameters = 1},
                    {.name = "b@1", .srcs = {2}, .dst = 4, .parameters = 1}};
  Schedule schedule = schedule_of(std::move(network), 2);
  schedule.copies = {{.tensor = 2, .of = 1, .list = 0}};
  schedule.plan.row_lists = {{0, 2}};
  list(schedule, 0, plan::Forward{.block = 0});
  list(schedule, 0, plan::Forward{.block = 1});
  list(schedule, 1, plan::Forward{.block = 2});
  list(schedule, 0, plan::BackwardData{.block = 1});
  list(schedule, 1, plan::BackwardData{.block = 2});
  list(schedule, 0, plan::BackwardData{.block = 0});
  const plan::Plan plan = lower(std::move(schedule));
  EXPECT_THAT(
      text_of(plan, 0),
      ElementsAre("load", "forward 0", "send tensor 1 to 1 rows 0", "forward 1", "backward_data 1",
                  "receive diff 1 from 1 rows 0 adds", "backward_data 0"));
  EXPECT_THAT(text_of(plan, 1), ElementsAre("receive tensor 2 from 0 rows 0", "forward 2",
                                            "backward_data 2", "send diff 2 to 0 rows 0"));
}

/// v = z + u of u = y + x: the gradients of the two that a sum reads can be made one by one. Worker
/// 2 makes that of u first, which worker 1 hands on to worker 0 before it needs that of y.
TEST(Lower, GradientsOfASumTravelAsSoonAsTheyAreThere) {
  plan::Network network{.name = "sums", .blocks = {}, .tensors = {4, 4, 4, 4, 4, 4}, .input = {4}};
  network.blocks = {{.name = "x", .srcs = {0}, .dst = 1, .parameters = 1},
                    {.name = "y", .srcs = {0}, .dst = 2, .parameters = 1},
                    {.name = "u", .srcs = {2, 1}, .dst = 3},
                    {.name = "z", .srcs = {0}, .dst = 4, .parameters = 1},
                    {.name = "v", .srcs = {4, 3}, .dst = 5}};
  Schedule schedule = schedule_of(std::move(network), 3);
  const int worker_of[] = {0, 1, 1, 2, 2};
  for (int b = 0; b < 5; ++b) list(schedule, worker_of[b], plan::Forward{.block = b});
  list(schedule, 2, plan::Loss{});
  list(schedule, 2, plan::BackwardData{.block = 4, .tensor = 3});
  list(schedule, 1, plan::BackwardData{.block = 2, .tensor = 1});
  list(schedule, 2, plan::BackwardData{.block = 4, .tensor = 4});
  list(schedule, 2, plan::BackwardData{.block = 3});
  list(schedule, 1, plan::BackwardData{.block = 2, .tensor = 2});
  list(schedule, 1, plan::BackwardData{.block = 1});
  list(schedule, 0, plan::BackwardData{.block = 0});
  const plan::Plan plan = lower(std::move(schedule));
  EXPECT_THAT(
      text_of(plan, 2),
      ElementsAre("load", "forward 3", "receive tensor 3 from 1", "forward 4", "loss",
                  "backward_data 4", "send diff 3 to 1", "backward_data 4", "backward_data 3"));
  EXPECT_THAT(text_of(plan, 1),
              ElementsAre("load", "forward 1", "receive tensor 1 from 0", "forward 2",
                          "send tensor 3 to 2", "receive diff 3 from 2", "backward_data 2",
                          "send diff 1 to 0", "backward_data 2", "backward_data 1"));
  EXPECT_THAT(text_of(plan, 0), ElementsAre("load", "forward 0", "send tensor 1 to 1",
                                            "receive diff 1 from 1", "backward_data 0"));
}

TEST(Lower, AGivenOrderDecidesWhoReadsFirst) {
  Schedule schedule = schedule_of(chain({2, 3}), 2);
  list_pass(schedule, {0, 1});
  schedule.items[4].after = {{.item = 3}};  // backward_weights 1
  const auto cost = cost::make_analytic_cost(schedule.plan.network);
  const Graph graph = derive(std::move(schedule), cost.get());
  ASSERT_EQ(graph.size(), 9);  // seven listed ones, two updates
  // The gradient one step later on worker 0; backward_weights 0 begins when update 0 has ended.
  const plan::Plan plan = write_programs(
      graph, {{{5, 1}, {6, 1}, {8, 1}, {0, 0}}, {{1, 0}, {2, 0}, {3, 0}, {4, 0}, {7, 0}}});
  EXPECT_THAT(text_of(plan, 0),
              ElementsAre("receive diff 1 from 1", "backward_data 0", "backward_weights 0",
                          "update 0", "load", "forward 0", "send tensor 1 to 1"));
  EXPECT_EQ(plan.programs[0].tasks[0].when.offset, 1);
  EXPECT_EQ(plan.programs[0].tasks[4].when.offset, 0);
  const std::vector<Wait>& after = graph.item(6).after;
  ASSERT_FALSE(after.empty());
  EXPECT_EQ(after.back().item, 8);
  EXPECT_EQ(after.back().earlier, 1);
  EXPECT_EQ(graph.item(5).after.front().item, 3);
  EXPECT_EQ(graph.item(4).after.front().item, 3);
  EXPECT_GT(graph.item(5).seconds, 0);
}

}  // namespace
}  // namespace plait::lower
