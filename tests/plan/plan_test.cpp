#include "plan/plan.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plan/hand_made.hpp"

namespace plait {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

TEST(Samples, CoverTheMinibatchWhateverItsSize) {
  for (std::int64_t batch : {1, 7, 64, 1000}) {
    std::int64_t next = 0;
    for (int part = 0; part < 6; ++part) {
      EXPECT_EQ(part_of(part, 6).first(batch), next);
      next = part_of(part, 6).last(batch);
    }
    EXPECT_EQ(next, batch);
  }
}

TEST(Plan, DepthIsTheLargestOffset) {
  EXPECT_EQ(hand_made::serial().depth(), 0);
  EXPECT_EQ(hand_made::asynchronous_pipeline().depth(), 2);
}

TEST(Owners, AreTheFirstThatUpdate) {
  EXPECT_THAT(owners(hand_made::data_parallel()), ElementsAre(0, -1, 0, 0));
  EXPECT_THAT(owners(hand_made::synchronous_pipeline()), ElementsAre(0, -1, 1, 1));
}

TEST(Staleness, IsZeroInSynchronousPlans) {
  EXPECT_THAT(staleness(hand_made::serial(4)), Each(0));
  EXPECT_THAT(staleness(hand_made::data_parallel()), Each(0));
  EXPECT_THAT(staleness(hand_made::synchronous_pipeline()), Each(0));
}

TEST(Staleness, CountsTheUpdatesAMinibatchMissed) {
  // step m: forward of m, then the update of m - 2; step m + 1: that of m - 1
  EXPECT_THAT(staleness(hand_made::asynchronous_pipeline()), ElementsAre(2, 0, 0, 0));
}

TEST(Staleness, IsOneLessWhereTheUpdateComesBeforeTheForward) {
  Plan plan = hand_made::asynchronous_pipeline();
  std::vector<Task>& tasks = plan.programs[0].tasks;
  std::rotate(tasks.begin(), tasks.begin() + hand_made::position(plan, 0, TaskKind::receive),
              tasks.end());
  ASSERT_EQ(tasks.front().kind, TaskKind::receive);
  EXPECT_THAT(staleness(plan), ElementsAre(1, 0, 0, 0));
}

/// What the definition says, counted in a play of the loop: updates between reading and own update.
int counted_staleness(const Program& program, int block) {
  std::vector<int> seen;   // updates done when minibatch m was read
  std::vector<int> count;  // updates done when m's own came
  int updates = 0;
  for (int step = 0; step < 40; ++step) {
    for (const Task& task : program.tasks) {
      if (task.block != block || step < task.offset) continue;
      const auto minibatch = static_cast<std::size_t>(step - task.offset);
      if (task.kind == TaskKind::forward && seen.size() == minibatch) seen.push_back(updates);
      if (task.kind == TaskKind::update && count.size() == minibatch) count.push_back(updates++);
    }
  }
  return count.back() - seen[count.size() - 1];
}

TEST(Staleness, AgreesWithAPlayOfTheLoop) {
  for (int late = 0; late < 5; ++late) {
    for (const bool update_first : {false, true}) {
      if (update_first && late == 0) continue;
      Plan plan = hand_made::empty_plan("loop", 1);
      std::vector<Task>& tasks = plan.programs[0].tasks;
      tasks.push_back({.kind = TaskKind::forward, .block = 0, .offset = 1});
      tasks.insert(update_first ? tasks.begin() : tasks.end(),
                   {.kind = TaskKind::update, .block = 0, .offset = 1 + late});
      EXPECT_EQ(staleness(plan)[0], counted_staleness(plan.programs[0], 0)) << late << update_first;
    }
  }
}

TEST(Describe, SaysWhatATaskIs) {
  const Plan plan = hand_made::data_parallel();
  EXPECT_EQ(describe(plan, {.kind = TaskKind::load}), "load");
  EXPECT_EQ(describe(plan, {.kind = TaskKind::forward, .block = 0}), "forward of conv1");
  EXPECT_EQ(describe(plan, {.kind = TaskKind::reduce_sum, .bucket = 2}), "reduce_sum of bucket 2");
  EXPECT_EQ(describe(plan, {.kind = TaskKind::send, .gradient = true, .tensor = 5, .peer = 1}),
            "send of the gradient of tensor 5 to worker 1");
  EXPECT_EQ(describe(plan, {.kind = TaskKind::receive, .tensor = 5, .peer = 1}),
            "receive of tensor 5 from worker 1");
  EXPECT_EQ(describe(plan, {.kind = TaskKind::update, .block = 99}), "update of block 99");
}

TEST(WireBytes, OfASendAreItsSamples) {
  const Plan plan = hand_made::synchronous_pipeline();
  EXPECT_EQ(wire_bytes(plan, 0,
                       {.kind = TaskKind::send, .tensor = 2, .peer = 1, .samples = part_of(0, 2)}),
            16 * 4 * 4);
  EXPECT_EQ(wire_bytes(plan, 0, {.kind = TaskKind::receive, .tensor = 2, .peer = 1}), 0);
}

TEST(WireBytes, OfAReductionAddUpToTwiceTheBucketForEveryMemberButOne) {
  for (int workers : {1, 2, 3, 4}) {
    Plan plan = hand_made::data_parallel(workers);
    plan.wire_bytes = 2;
    std::int64_t bytes = 0;
    for (int worker = 0; worker < workers; ++worker) {
      for (const TaskKind kind :
           {TaskKind::reduce_start, TaskKind::reduce_sum, TaskKind::reduce_finish}) {
        bytes += wire_bytes(plan, worker, {.kind = kind, .group = 0, .bucket = 0});
      }
    }
    EXPECT_EQ(bytes, (workers - 1) * 2 * 48 * 2) << workers;
  }
}

TEST(WireBytes, OfRunningStatisticsAreAlwaysFourPerNumber) {
  Plan plan = hand_made::data_parallel();
  plan.wire_bytes = 2;
  EXPECT_EQ(bucket_bytes(plan, plan.buckets[0]), 48 * 2);
  EXPECT_EQ(bucket_bytes(plan, plan.buckets[2]), 8 * 4);
  // 8 numbers are one unit of 16: the second member's
  EXPECT_EQ(wire_bytes(plan, 0, {.kind = TaskKind::reduce_start, .group = 0, .bucket = 2}), 8 * 4);
  EXPECT_EQ(wire_bytes(plan, 1, {.kind = TaskKind::reduce_sum, .group = 0, .bucket = 2}), 8 * 4);
}

}  // namespace
}  // namespace plait
