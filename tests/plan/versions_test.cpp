// Versions of weights, held to a play of the loop in which every update and every receive of
// weights leaves one more of them.
#include "plan/versions.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <climits>

#include "plan/check.hpp"
#include "plan/hand_made.hpp"
#include "plan/text.hpp"

namespace plait::plan {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

/// What readers of one block's weights meet, counted in a play.
struct Counted {
  int newest_delay = INT_MIN;  ///< largest over the readers
  int versions = 0;            ///< from the oldest one asked for to the newest, where most
};

Counted count(const Program& program, int block) {
  constexpr int kSteps = 40;
  constexpr int kFull =
      20;  // steps until the loop is full: before that a reader finds less to miss
  Counted counted;
  int newest = -1;  // the minibatch whose update came last
  for (int step = 0; step < kSteps; ++step) {
    for (const Task& task : program.tasks) {
      const int minibatch = step - task.when.offset;
      if (block_of(task) != block || minibatch < 0) continue;
      if (is<Update>(task)) newest = minibatch;
      if (is<Receive>(task) && message_of(task)->value.role == Role::weights) newest = minibatch;
      if (!is<Forward>(task) && !is<BackwardData>(task)) continue;
      if (step < kFull) continue;
      counted.newest_delay = std::max(counted.newest_delay, minibatch - 1 - newest);
      counted.versions =
          std::max(counted.versions, newest - (minibatch - 1 - delay_of(task).value()) + 1);
    }
  }
  return counted;
}

/// One reader and one update of conv1, `late` steps apart.
Plan two_tasks(int late, bool update_first) {
  Plan plan = hand_made::empty_plan("loop", 1);
  std::vector<Task>& tasks = plan.programs[0].tasks;
  tasks.push_back({.when = {.offset = 1}, .what = Forward{.block = 0}});
  tasks.insert(update_first ? tasks.begin() : tasks.end(),
               {.when = {.offset = 1 + late}, .what = Update{.block = 0}});
  return plan;
}

/// Every way to place forward, backward_data and update of conv1 in a loop.
template <class Body>
void each_loop(const Body& body) {
  const What kinds[] = {Forward{.block = 0}, BackwardData{.block = 0}, Update{.block = 0}};
  int order[] = {0, 1, 2};
  do {
    for (int backward = 0; backward < 4; ++backward) {
      for (int update = backward; update < 6; ++update) {
        Plan plan = hand_made::empty_plan("loop", 1);
        const int offsets[] = {0, backward, update};
        for (const int i : order) {
          plan.programs[0].tasks.push_back({.when = {.offset = offsets[i]}, .what = kinds[i]});
        }
        body(plan);
      }
    }
  } while (std::next_permutation(std::begin(order), std::end(order)));
}

TEST(NewestDelay, AgreesWithAPlayOfTheLoop) {
  for (int late = 0; late < 5; ++late) {
    for (const bool update_first : {false, true}) {
      const Plan plan = two_tasks(late, update_first);
      const int read = update_first ? 1 : 0;
      const std::vector<Task>& tasks = plan.programs[0].tasks;
      EXPECT_EQ(newest_delay(tasks[static_cast<std::size_t>(read)], read,
                             tasks[static_cast<std::size_t>(1 - read)], 1 - read),
                count(plan.programs[0], 0).newest_delay)
          << late << update_first;
    }
  }
}

TEST(LeastDelays, AreZeroInSynchronousPlans) {
  for (const auto& [name, good] : hand_made::all_plans()) {
    if (good.depth() > 0) continue;
    Plan plan = good;
    set_least_delays(plan);
    EXPECT_THAT(staleness(plan), Each(0)) << name;
  }
}

TEST(LeastDelays, CountTheUpdatesAMinibatchMissed) {
  // step m: forward of m, then the update of m - 2; step m + 1: that of m - 1
  const Plan good = hand_made::asynchronous_pipeline();
  Plan plan = good;
  for (Program& program : plan.programs) {
    for (Task& task : program.tasks) {
      const bool reads = is<Forward>(task) || is<BackwardData>(task);
      if (reads && block_of(task) != 1) set_delay(task, 7);  // pool has no weights
    }
  }
  set_least_delays(plan);
  for (const std::size_t worker : {0, 1}) {
    EXPECT_TRUE(plan.programs[worker].tasks == good.programs[worker].tasks) << show(plan);
  }
  EXPECT_THAT(staleness(plan), ElementsAre(2, 0, 0, 0));
}

TEST(LeastDelays, AreOneLessWhereTheUpdateComesBeforeTheForward) {
  Plan plan = hand_made::asynchronous_pipeline();
  std::vector<Task>& tasks = plan.programs[0].tasks;
  std::rotate(tasks.begin(), tasks.begin() + hand_made::position(plan, 0, TaskKind::receive),
              tasks.end());
  ASSERT_EQ(kind_of(tasks.front()), TaskKind::receive);
  set_least_delays(plan);
  EXPECT_THAT(staleness(plan), ElementsAre(1, 0, 0, 0));
  EXPECT_EQ(std::get<BackwardData>(hand_made::task(plan, 0, TaskKind::backward_data, 0).what).delay,
            1);
  EXPECT_THAT(faults(plan), ::testing::IsEmpty());
}

TEST(LeastDelays, AgreeWithAPlayOfTheLoop) {
  each_loop([](Plan& plan) {
    const int least = std::max(0, count(plan.programs[0], 0).newest_delay);
    set_least_delays(plan);
    for (const TaskKind kind : {TaskKind::forward, TaskKind::backward_data}) {
      EXPECT_EQ(delay_of(hand_made::task(plan, 0, kind)), least) << show(plan);
    }
  });
}

TEST(LeastDelays, AreTheSameOnAllWorkers) {
  // the second worker gets bn's weights a step late, so the first must not read newer ones
  Plan plan = hand_made::lent_backward();
  for (const int worker : {0, 1}) {
    const TaskKind kind = worker == 0 ? TaskKind::send : TaskKind::receive;
    hand_made::message_task(plan, worker, kind, Role::weights).when.offset = 1;
  }
  set_least_delays(plan);
  EXPECT_EQ(std::get<BackwardData>(hand_made::task(plan, 1, TaskKind::backward_data, 2).what).delay,
            1);
  EXPECT_EQ(std::get<Forward>(hand_made::task(plan, 0, TaskKind::forward, 2).what).delay, 1);
  EXPECT_EQ(std::get<Forward>(hand_made::task(plan, 0, TaskKind::forward, 3).what).delay, 0);
  EXPECT_EQ(weight_versions(plan, 0)[2], 2);
  EXPECT_EQ(weight_versions(plan, 1)[2], 1);
}

TEST(WeightVersions, OfThePlansByHand) {
  const Plan late = hand_made::asynchronous_pipeline();
  EXPECT_THAT(weight_versions(late, 0), ElementsAre(3, 0, 0, 0));
  EXPECT_THAT(weight_versions(late, 1), ElementsAre(0, 0, 1, 1));
  const Plan lent = hand_made::lent_backward();
  EXPECT_THAT(weight_versions(lent, 0), ElementsAre(1, 0, 1, 1));
  EXPECT_THAT(weight_versions(lent, 1), ElementsAre(0, 0, 1, 0));
}

TEST(WeightVersions, AreOneWhereNobodyTrains) {
  Plan plan = hand_made::empty_plan("evaluation", 1);
  hand_made::Writer(plan.programs[0]).task(TaskKind::load).forward(0, 3);
  EXPECT_THAT(weight_versions(plan, 0), ElementsAre(1, 0, 1, 1));
}

TEST(WeightVersions, AgreeWithAPlayOfTheLoop) {
  each_loop([](Plan& plan) {
    set_least_delays(plan);
    for (const int more : {0, 1, 3}) {
      std::get<Forward>(hand_made::task(plan, 0, TaskKind::forward).what).delay += more;
      EXPECT_EQ(weight_versions(plan, 0)[0], count(plan.programs[0], 0).versions) << show(plan);
    }
  });
}

}  // namespace
}  // namespace plait::plan
