// Replicas: a schedule of one of them gives the plan that listing all of them gives, and the work
// of deriving it does not grow with their number.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lower/lower_testing.hpp"
#include "plan/check.hpp"

namespace plait::lower {
namespace {

using testing::IsEmpty;

constexpr int kMicrobatches = 2;

/// Replicas of a pipeline of two workers, in `listed` of which the tasks are listed.
Schedule pipelines(int replicas, int listed) {
  plan::Network network = chain({2, 3, 4});
  network.blocks[1].state = 5;
  Schedule schedule = schedule_of(std::move(network), 2 * replicas);
  schedule.plan.batch = 24;
  schedule.plan.microbatches = kMicrobatches;
  schedule.replicas = replicas / listed;
  schedule.bucket_bytes = 4;
  for (int r = 0; r < listed; ++r) {
    const std::vector<int> workers{2 * r, 2 * r + 1, 2 * r + 1};
    for (int k = 0; k < kMicrobatches; ++k) {
      const std::size_t first = schedule.items.size();
      list_pass(schedule, workers, plan::part_of(r * kMicrobatches + k, listed * kMicrobatches));
      for (std::size_t i = first; i < schedule.items.size(); ++i) {
        auto* forward = std::get_if<plan::Forward>(&schedule.items[i].task.what);
        if (forward != nullptr) forward->moves_state = k == 0;
      }
    }
  }
  return schedule;
}

TEST(Replicas, AreWrittenAsIfAllWereListed) {
  for (const bool clip : {false, true}) {
    Schedule all = pipelines(3, 3);
    Schedule one = pipelines(3, 1);
    all.clip = one.clip = clip;
    const plan::Plan plan = lower(std::move(one));
    EXPECT_THAT(plan::faults(plan), IsEmpty());
    EXPECT_EQ(plan, lower(std::move(all)));
  }
}

TEST(Replicas, CostNothingBeforeProgramsAreWritten) {
  const Graph two = derive(pipelines(2, 1));
  const Graph many = derive(pipelines(500, 1));
  EXPECT_EQ(two.size(), many.size());
  EXPECT_EQ(two.deliveries.size(), many.deliveries.size());
  EXPECT_EQ(many.schedule.plan.groups.front().size(), 500U);
}

}  // namespace
}  // namespace plait::lower
