// The numbers that follow from a plan: samples, depth, owners, staleness, bytes on the wire.
#include "plan/plan.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plan/hand_made.hpp"

namespace plait::plan {
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

TEST(StateOwners, AreTheFirstWhoseForwardMovesTheStatistics) {
  EXPECT_THAT(state_owners(hand_made::data_parallel()), ElementsAre(0, 0, 0, 0));
  EXPECT_THAT(state_owners(hand_made::synchronous_pipeline()), ElementsAre(0, 0, 1, 1));
  Plan plan = hand_made::data_parallel();
  std::get<Forward>(hand_made::task(plan, 0, TaskKind::forward, 2).what).moves_state = false;
  hand_made::erase(plan, 0, TaskKind::forward, 3);
  hand_made::erase(plan, 1, TaskKind::forward, 3);
  EXPECT_THAT(state_owners(plan), ElementsAre(0, 0, 1, -1));
}

TEST(Staleness, IsTheLargestDelayOfABlock) {
  EXPECT_THAT(staleness(hand_made::synchronous_pipeline()), Each(0));
  EXPECT_THAT(staleness(hand_made::asynchronous_pipeline()), ElementsAre(2, 0, 0, 0));
  Plan plan = hand_made::data_parallel();
  std::get<Forward>(hand_made::task(plan, 0, TaskKind::forward, 2).what).delay = 1;
  std::get<BackwardData>(hand_made::task(plan, 1, TaskKind::backward_data, 2).what).delay = 3;
  std::get<Forward>(hand_made::task(plan, 1, TaskKind::forward, 3).what).delay = 2;
  EXPECT_THAT(staleness(plan), ElementsAre(0, 0, 3, 2));
}

TEST(Describe, SaysWhatATaskIs) {
  const Plan plan = hand_made::data_parallel();
  EXPECT_EQ(describe(plan, {.what = Load{}}), "load");
  EXPECT_EQ(describe(plan, {.what = Forward{.block = 0}}), "forward of conv1");
  EXPECT_EQ(describe(plan, {.what = Reduce{.move = Move::sum, .bucket = 2}}),
            "reduce_sum of bucket 2");
  EXPECT_EQ(describe(plan, {.what = Send{{.value = {.role = Role::diff, .index = 5}, .peer = 1}}}),
            "send of the gradient of tensor 5 to worker 1");
  EXPECT_EQ(describe(plan, {.what = Receive{{.value = {.index = 5}, .peer = 1}}}),
            "receive of tensor 5 from worker 1");
  EXPECT_EQ(describe(plan, {.what = Send{{.value = {.role = Role::saved, .index = 2}, .peer = 3}}}),
            "send of what forward leaves of bn to worker 3");
  EXPECT_EQ(
      describe(plan, {.what = Receive{{.value = {.role = Role::pending, .index = 2}, .peer = 3}}}),
      "receive of what backward_data leaves of bn from worker 3");
  EXPECT_EQ(
      describe(plan, {.what = Send{{.value = {.role = Role::weights, .index = 0}, .peer = 1}}}),
      "send of the weights of conv1 to worker 1");
  EXPECT_EQ(describe(plan, {.what = Send{{.value = {.role = Role::saved, .index = 9}, .peer = 1}}}),
            "send of what forward leaves of block 9 to worker 1");
  EXPECT_EQ(describe(plan, {.what = Update{.block = 99}}), "update of block 99");
}

TEST(WireBytes, OfASendAreItsSamples) {
  const Plan plan = hand_made::synchronous_pipeline();
  EXPECT_EQ(
      wire_bytes(plan, 0,
                 {.what = Send{{.value = {.index = 2, .samples = part_of(0, 2)}, .peer = 1}}}),
      16 * 4 * 4);
  EXPECT_EQ(wire_bytes(plan, 0, {.what = Receive{{.value = {.index = 2}, .peer = 1}}}), 0);
}

TEST(WireBytes, OfWhatABlockLeavesAreItsSamplesAndOfWeightsAllOfThem) {
  const Plan plan = hand_made::lent_backward();
  const auto bytes = [&](Role role) {
    return wire_bytes(
        plan, 0,
        {.what = Send{{.value = {.role = role, .index = 2, .samples = part_of(0, 2)}, .peer = 1}}});
  };
  EXPECT_EQ(bytes(Role::saved), 16 * 4 * 4);
  EXPECT_EQ(bytes(Role::pending), 16 * 4 * 4);
  EXPECT_EQ(bytes(Role::weights), 8 * 4);
}

TEST(WireBytes, OfAReductionAddUpToTwiceTheBucketForEveryMemberButOne) {
  for (int workers : {1, 2, 3, 4}) {
    Plan plan = hand_made::data_parallel(workers);
    plan.wire_bytes = 2;
    std::int64_t bytes = 0;
    for (int worker = 0; worker < workers; ++worker) {
      for (const Move move : {Move::start, Move::sum, Move::finish}) {
        bytes += wire_bytes(plan, worker, {.what = Reduce{.move = move, .group = 0, .bucket = 0}});
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
  EXPECT_EQ(wire_bytes(plan, 0, {.what = Reduce{.move = Move::start, .group = 0, .bucket = 2}}),
            8 * 4);
  EXPECT_EQ(wire_bytes(plan, 1, {.what = Reduce{.move = Move::sum, .group = 0, .bucket = 2}}),
            8 * 4);
}

}  // namespace
}  // namespace plait::plan
