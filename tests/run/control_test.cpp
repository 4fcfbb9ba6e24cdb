// ControlBroadcast and LossBook: decisions one step ahead, losses summed in the order of workers.
#include "session/control.hpp"

#include <gtest/gtest.h>

#include "plan/hand_made.hpp"
#include "session/loss_book.hpp"
#include "transport/threads.hpp"

namespace plait {
namespace {

TEST(ControlBroadcast, AllMembersFollowADecisionOneStepLater) {
  ThreadWorld world({.nodes = 1, .members_per_node = 3});
  run_members(world, [&](int rank) {
    const std::unique_ptr<Group> group = world.control_group(rank);
    int asked = 0;
    ControlBroadcast control(*group, [&] {
      EXPECT_EQ(rank, 0);
      const Control decision{.stop = asked == 3, .save = asked == 1};
      ++asked;
      return decision;
    });
    std::vector<Control> seen;
    for (int step = 0; step < 5; ++step) seen.push_back(control.next());
    control.finish();
    EXPECT_EQ(seen, (std::vector<Control>{{}, {}, {.save = true}, {}, {.stop = true}}));
  });
}

TEST(ControlBroadcast, AloneADecisionHoldsAtOnce) {
  ThreadWorld world({});
  const std::unique_ptr<Group> group = world.control_group(0);
  ControlBroadcast control(*group, [] { return Control{.stop = true}; });
  EXPECT_TRUE(control.next().stop);
  control.finish();
}

constexpr MinibatchRange kRange{0, 10};

TEST(LossBook, SumsTheLossesOfAllWorkers) {
  ThreadWorld world({.nodes = 1, .members_per_node = 2});
  run_members(world, [&](int rank) {
    const std::unique_ptr<Group> group = world.control_group(rank);
    LossBook book(hand_made::data_parallel(), *group);
    for (std::int64_t step = 0; step < 2; ++step) {
      book.add({{step, {.sum = rank + 1.5, .correct = rank + 2}}}, step, kRange);
    }
    const std::vector<MinibatchLoss> all = book.collect(true);
    ASSERT_EQ(all.size(), rank == 0 ? 2U : 0U);
    for (std::size_t i = 0; i < all.size(); ++i) {
      EXPECT_EQ(all[i].minibatch, static_cast<std::int64_t>(i));
      EXPECT_EQ(all[i].loss.sum, 4);
      EXPECT_EQ(all[i].loss.correct, 5);
    }
    group->barrier();
  });
}

TEST(LossBook, Worker0WithoutALossTaskWaitsForNobody) {
  ThreadWorld world({.nodes = 1, .members_per_node = 2});
  const Plan plan = hand_made::asynchronous_pipeline();  // worker 1 has the loss, a step late
  const std::unique_ptr<Group> zero = world.control_group(0);
  const std::unique_ptr<Group> one = world.control_group(1);
  LossBook book(plan, *zero);
  LossBook other(plan, *one);
  book.add({}, 0, kRange);
  book.add({}, 1, kRange);
  EXPECT_TRUE(book.collect(false).empty());
  other.add({{0, {.sum = 2.5, .correct = 1}}}, 1, kRange);
  const std::vector<MinibatchLoss> all = book.collect(true);
  ASSERT_EQ(all.size(), 1);  // none of minibatch -1
  EXPECT_EQ(all[0].minibatch, 0);
  EXPECT_EQ(all[0].loss.sum, 2.5);
}

}  // namespace
}  // namespace plait
