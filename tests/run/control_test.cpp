// ControlBroadcast and LossBook: decisions one step ahead, losses summed in the order of workers.
#include "session/control.hpp"

#include <gtest/gtest.h>

#include "plan/hand_made.hpp"
#include "session/loss_book.hpp"
#include "transport/threads.hpp"

namespace plait::run {
namespace {

TEST(ControlBroadcast, AllMembersFollowADecisionOneStepLater) {
  transport::ThreadWorld world({.nodes = 1, .members_per_node = 3});
  transport::run_members(world, [&](int rank) {
    const std::unique_ptr<transport::Group> group = world.control_group(rank);
    int asked = 0;
    session::ControlBroadcast control(*group, [&] {
      EXPECT_EQ(rank, 0);
      const session::Control decision{.stop = asked == 3, .save = asked == 1};
      ++asked;
      return decision;
    });
    std::vector<session::Control> seen;
    for (int step = 0; step < 5; ++step) seen.push_back(control.next());
    control.finish();
    EXPECT_EQ(seen, (std::vector<session::Control>{{}, {}, {.save = true}, {}, {.stop = true}}));
  });
}

TEST(ControlBroadcast, AloneADecisionHoldsAtOnce) {
  transport::ThreadWorld world({});
  const std::unique_ptr<transport::Group> group = world.control_group(0);
  session::ControlBroadcast control(*group, [] { return session::Control{.stop = true}; });
  EXPECT_TRUE(control.next().stop);
  control.finish();
}

constexpr plan::MinibatchRange kRange{0, 10};

TEST(LossBook, SumsTheLossesOfAllWorkers) {
  transport::ThreadWorld world({.nodes = 1, .members_per_node = 2});
  transport::run_members(world, [&](int rank) {
    const std::unique_ptr<transport::Group> group = world.control_group(rank);
    session::LossBook book(plan::hand_made::data_parallel(), *group);
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
  transport::ThreadWorld world({.nodes = 1, .members_per_node = 2});
  const plan::Plan plan =
      plan::hand_made::asynchronous_pipeline();  // worker 1 has the loss, a step late
  const std::unique_ptr<transport::Group> zero = world.control_group(0);
  const std::unique_ptr<transport::Group> one = world.control_group(1);
  session::LossBook book(plan, *zero);
  session::LossBook other(plan, *one);
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
}  // namespace plait::run
