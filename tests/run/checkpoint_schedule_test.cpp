// CheckpointSchedule: when a checkpoint is due, and where ranges end for it.
#include "session/checkpoint_schedule.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "plan/hand_made.hpp"

namespace plait::run {
namespace {

TEST(CheckpointSchedule, SavesEverySoManySteps) {
  const session::CheckpointSchedule saves(plan::hand_made::serial(), {.every = 4});
  EXPECT_FALSE(saves.due(3, false));
  EXPECT_TRUE(saves.due(4, false));
  EXPECT_FALSE(saves.due(5, false));
  EXPECT_TRUE(saves.due(8, false));
}

TEST(CheckpointSchedule, SavesWhenWorker0AsksForIt) {
  const session::CheckpointSchedule saves(plan::hand_made::serial(), {});
  EXPECT_FALSE(saves.due(4, false));
  EXPECT_TRUE(saves.due(4, true));
}

TEST(CheckpointSchedule, NeverSavesWhereNothingIsWritten) {
  const session::CheckpointSchedule saves(plan::hand_made::serial(), {.every = 4, .writes = false});
  EXPECT_FALSE(saves.due(4, false));
  EXPECT_FALSE(saves.due(4, true));
}

TEST(CheckpointSchedule, TheClockBeginsAnewWithEverySave) {
  session::CheckpointSchedule saves(plan::hand_made::serial(), {.minutes = 0.02 / 60});  // 20 ms
  EXPECT_FALSE(saves.due_by_time());
  std::this_thread::sleep_for(std::chrono::milliseconds(25));
  EXPECT_TRUE(saves.due_by_time());
  saves.saved(7);
  EXPECT_FALSE(saves.due_by_time());
  EXPECT_EQ(saves.saved_step(), 7);
  EXPECT_FALSE(session::CheckpointSchedule(plan::hand_made::serial(), {}).due_by_time());
}

TEST(CheckpointSchedule, SynchronousPlansSaveAfterAnyStep) {
  for (const plan::Plan& plan :
       {plan::hand_made::serial(), plan::hand_made::synchronous_pipeline()}) {
    const session::CheckpointSchedule saves(plan, {.every = 4});
    EXPECT_FALSE(saves.between_ranges_only());
    EXPECT_EQ(saves.range_end(5, 100), 100);
  }
}

TEST(CheckpointSchedule, OverlappingStepsEndARangeWhereTheySave) {
  const session::CheckpointSchedule saves(plan::hand_made::asynchronous_pipeline(), {.every = 4});
  EXPECT_TRUE(saves.between_ranges_only());
  EXPECT_EQ(saves.range_end(0, 100), 4);
  EXPECT_EQ(saves.range_end(4, 100), 8);
  EXPECT_EQ(saves.range_end(5, 7), 7);
  EXPECT_EQ(
      session::CheckpointSchedule(plan::hand_made::asynchronous_pipeline(), {}).range_end(0, 100),
      100);
}

TEST(CheckpointSchedule, OldWeightsAndEndsOfRangesForbidSavesInside) {
  plan::Plan delayed = plan::hand_made::serial();
  plan::set_delay(plan::hand_made::task(delayed, 0, plan::TaskKind::forward, 0), 1);
  EXPECT_TRUE(session::CheckpointSchedule(delayed, {}).between_ranges_only());
  plan::Plan with_end = plan::hand_made::data_parallel();
  with_end.programs[1].tasks.back().when.at_end = true;
  EXPECT_TRUE(session::CheckpointSchedule(with_end, {}).between_ranges_only());
}

TEST(CheckpointSchedule, TellsOfALateSaveOnce) {
  session::CheckpointSchedule saves(plan::hand_made::asynchronous_pipeline(), {});
  EXPECT_TRUE(saves.first_late_save());
  EXPECT_FALSE(saves.first_late_save());
}

}  // namespace
}  // namespace plait::run
