// RunTimes and EpochModes: what a member remembers of its steps and epochs.
#include "session/run_times.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "session/epoch_modes.hpp"

namespace plait::run {
namespace {

TEST(RunTimes, SumsAllStepsAndTakesTheMedianOfTheLast) {
  session::RunTimes times;
  EXPECT_EQ(times.median_step(), 0);
  for (const double seconds : {64.0, 1.0, 3.0, 2.0, 65.0}) times.add_step(seconds);
  EXPECT_EQ(times.steps(), 135);
  EXPECT_EQ(times.median_step(), 3);
  for (std::size_t i = 0; i < session::RunTimes::kStepsTimed; ++i) times.add_step(0.5);
  EXPECT_EQ(times.median_step(), 0.5);
  EXPECT_EQ(times.steps(), 135 + 0.5 * session::RunTimes::kStepsTimed);
}

TEST(RunTimes, LapsAndEpochsBeginAnewAndTheRunDoesNot) {
  session::RunTimes times;
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_GE(times.lap(), 0.02);
  EXPECT_LT(times.lap(), 0.02);
  times.begin_epoch();
  EXPECT_LT(times.epoch(), 0.02);
  EXPECT_GE(times.run(), 0.02);
}

TEST(EpochModes, FollowTheLosses) {
  session::EpochModes modes([](std::int64_t epochs, const std::vector<double>& losses) {
    EXPECT_EQ(epochs, 9);
    return losses.size() < 2 ? 1 : 2;
  });
  EXPECT_EQ(modes.mode(), -1);
  EXPECT_EQ(modes.played(), 0);
  EXPECT_TRUE(modes.choose(9, {}));
  EXPECT_EQ(modes.played(), 1);
  EXPECT_FALSE(modes.choose(9, {0.5}));
  EXPECT_TRUE(modes.choose(9, {0.5, 0.25}));
  EXPECT_EQ(modes.mode(), 2);
}

TEST(EpochModes, OneModeNeedsNoChoice) {
  session::EpochModes modes(nullptr);
  EXPECT_FALSE(modes.choose(3, {}));
  EXPECT_EQ(modes.mode(), -1);
}

}  // namespace
}  // namespace plait::run
