// Exchanges of weights between nodes: who meets whom, when, and with which part.
#include "lower/exchanges.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lower/lower_testing.hpp"
#include "plan/check.hpp"

namespace plait::lower {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

plan::Machine nodes_of(int workers) { return {.nodes = 2, .workers_per_node = workers}; }

/// A chain of two blocks, each on a worker of its own.
ExchangeSchedule pipeline_in_nodes(int wait) {
  Schedule inside = schedule_of(chain({2, 3}), 2);
  list_pass(inside, {0, 1});
  return {.node = lower(std::move(inside)),
          .machine = nodes_of(2),
          .batch = 16,
          .ways = {{.name = "one", .every = 4, .merge = {.steps = wait}}}};
}

/// Two workers that share all blocks.
ExchangeSchedule replicas_in_nodes() {
  Schedule inside = schedule_of(chain({2, 3}), 2);
  for (int worker = 0; worker < 2; ++worker) {
    list_pass(inside, {worker, worker}, plan::part_of(worker, 2));
  }
  return {.node = lower(std::move(inside)),
          .machine = nodes_of(2),
          .batch = 16,
          .ways = {{.name = "one", .every = 4, .merge = {.steps = 2}}}};
}

TEST(Exchanges, AreBetweenThoseWhoHoldTheSame) {
  const plan::Plan plan = with_exchanges(pipeline_in_nodes(2));
  EXPECT_THAT(plan.groups, ElementsAre(ElementsAre(0, 2), ElementsAre(1, 3)));
  EXPECT_THAT(text_of(plan, 0),
              ElementsAre("load", "forward 0", "reduce_sum 0", "send tensor 1 to 1",
                          "receive diff 1 from 1", "backward_data 0", "backward_weights 0",
                          "update 0", "reduce_start 0", "reduce_finish 0", "reduce_start 1",
                          "reduce_sum 1", "reduce_finish 1"));
  EXPECT_EQ(plan.programs[2].averages, plan::part_of(1, 2));
  EXPECT_EQ(plan::samples_of(plan.programs[2].tasks[0]), plan::part_of(1, 2));
  EXPECT_EQ(plan::message_of(plan.programs[2].tasks[3])->peer, 3);
  EXPECT_EQ(plan.programs[0].tasks[2].when, (plan::When{1, 4, 0, 0}));
  EXPECT_EQ(plan.programs[0].tasks[8].when, (plan::When{0, 4, 3, 0}));
  EXPECT_EQ(plan.programs[0].tasks[9].when, (plan::When{2, 4, 1, 0}));
  EXPECT_EQ(plan.programs[0].tasks[10].when, (plan::When{.offset = 2, .at_end = true}));
  EXPECT_THAT(plan::faults(plan), IsEmpty());
}

TEST(Exchanges, ThatAllWaitForLeaveAsSoonAsBlocksAreUpdated) {
  Schedule inside = schedule_of(chain({2, 3}), 1);
  list_pass(inside, {0, 0});
  const plan::Plan plan = with_exchanges({.node = lower(std::move(inside)),
                                          .machine = nodes_of(1),
                                          .batch = 16,
                                          .ways = {{.name = "one", .every = 4}},
                                          .bucket_bytes = 4});
  EXPECT_THAT(
      text_of(plan, 1),
      ElementsAre("load", "forward 0", "forward 1", "loss", "backward_data 1", "backward_weights 1",
                  "update 1", "reduce_start 0", "backward_data 0", "backward_weights 0", "update 0",
                  "reduce_start 1", "reduce_sum 0", "reduce_sum 1", "reduce_finish 0",
                  "reduce_finish 1", "reduce_start 2", "reduce_sum 2", "reduce_finish 2"));
  EXPECT_THAT(plan::faults(plan), IsEmpty());
}

TEST(Exchanges, WorkersWithEqualWeightsTakeAPartEachAndGather) {
  const ExchangeSchedule schedule = replicas_in_nodes();
  EXPECT_THAT(holders(schedule.node).updaters[1], ElementsAre(0, 1));
  ASSERT_EQ(held_together(schedule.node).size(), 1U);
  const plan::Plan plan = with_exchanges(schedule);
  EXPECT_THAT(plan.groups, ElementsAre(ElementsAre(0, 1), ElementsAre(2, 3), ElementsAre(0, 2),
                                       ElementsAre(1, 3)));
  const plan::Bucket& second = plan.buckets.at(schedule.node.buckets.size() + 1);
  EXPECT_EQ(second.part, 1);
  EXPECT_EQ(second.parts, 2);
  const std::vector<plan::Task>& tasks = plan.programs[3].tasks;
  const auto& gather = std::get<plan::Reduce>(tasks.back().what);
  EXPECT_EQ(gather.group, 1);
  EXPECT_EQ(plan.buckets[static_cast<std::size_t>(gather.bucket)].merge.kind,
            plan::MergeKind::gather);
  EXPECT_THAT(plan::faults(plan), IsEmpty());
}

}  // namespace
}  // namespace plait::lower
