// Learning rates against their formulas, and refusal of settings that make no sense.
#include "optim/schedule.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/error.hpp"

namespace plait::optim {
namespace {

TEST(Schedule, ConstantWithWarmUp) {
  const ScheduleSpec spec{.base = 0.8, .warmup_steps = 4};
  EXPECT_DOUBLE_EQ(learning_rate(spec, 0), 0.2);
  EXPECT_DOUBLE_EQ(learning_rate(spec, 1), 0.4);
  EXPECT_DOUBLE_EQ(learning_rate(spec, 3), 0.8);
  EXPECT_DOUBLE_EQ(learning_rate(spec, 4), 0.8);
  EXPECT_DOUBLE_EQ(learning_rate(spec, 1'000'000'000'000), 0.8);
}

TEST(Schedule, StepBeginsAfterTheWarmUp) {
  const ScheduleSpec spec{
      .kind = "step", .base = 1, .warmup_steps = 5, .step_size = 10, .gamma = 0.5};
  EXPECT_DOUBLE_EQ(learning_rate(spec, 4), 1);
  EXPECT_DOUBLE_EQ(learning_rate(spec, 14), 1);
  EXPECT_DOUBLE_EQ(learning_rate(spec, 15), 0.5);
  EXPECT_DOUBLE_EQ(learning_rate(spec, 25), 0.25);
}

TEST(Schedule, CosineFallsFromBaseToItsEndAndStays) {
  const ScheduleSpec spec{
      .kind = "cosine", .base = 2, .warmup_steps = 10, .final_fraction = 0.1, .total_steps = 110};
  EXPECT_DOUBLE_EQ(learning_rate(spec, 9), 2);
  EXPECT_DOUBLE_EQ(learning_rate(spec, 10), 2);
  EXPECT_NEAR(learning_rate(spec, 60), 2 * (0.1 + 0.9 / 2), 1e-12);
  EXPECT_NEAR(learning_rate(spec, 35), 2 * (0.1 + 0.9 * (1 + std::sqrt(0.5)) / 2), 1e-12);
  EXPECT_DOUBLE_EQ(learning_rate(spec, 110), 0.2);
  EXPECT_DOUBLE_EQ(learning_rate(spec, 500), 0.2);
  for (std::int64_t step = 10; step < 110; ++step) {
    EXPECT_LT(learning_rate(spec, step + 1), learning_rate(spec, step));
  }
}

/// As torch.optim.lr_scheduler.ReduceLROnPlateau of PyTorch 1.13 drops after each epoch.
TEST(Schedule, PlateauDropsWhereTheLossHasStoppedFalling) {
  const std::vector<double> losses{1.0, 0.9, 0.9,     0.95, 0.91, 0.92,    0.89999,
                                   0.9, 0.5, 0.49999, 0.6,  0.7,  0.499949};
  const auto drops = [&](std::int64_t patience) {
    const ScheduleSpec spec{.kind = "plateau", .base = 2, .gamma = 0.5, .patience = patience};
    std::vector<std::int64_t> after;
    for (std::size_t epochs = 1; epochs <= losses.size(); ++epochs) {
      after.push_back(plateau_drops(spec, std::span(losses).first(epochs)));
      EXPECT_DOUBLE_EQ(learning_rate(spec, 7, after.back()),
                       2 * std::pow(0.5, static_cast<double>(after.back())));
    }
    return after;
  };
  EXPECT_THAT(drops(2), testing::ElementsAre(0, 0, 0, 0, 1, 1, 1, 2, 2, 2, 2, 3, 3));
  EXPECT_THAT(drops(0), testing::ElementsAre(0, 0, 1, 2, 3, 4, 5, 6, 6, 7, 8, 9, 9));
  EXPECT_EQ(plateau_drops({.kind = "constant", .patience = 0}, losses), 0);
}

void expect_schedule_refused(const ScheduleSpec& spec, const std::string& part) {
  try {
    check_schedule(spec);
    ADD_FAILURE() << "accepted; wanted " << part;
  } catch (const UserError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr(part));
  }
}

TEST(Schedule, WarmUpBeginsWhereItIsTold) {
  const ScheduleSpec spec{.base = 0.8, .warmup_steps = 4, .warmup_from = 0.25};
  EXPECT_DOUBLE_EQ(learning_rate(spec, 0), 0.2 + 0.6 / 4);
  EXPECT_DOUBLE_EQ(learning_rate(spec, 3), 0.8);
  EXPECT_DOUBLE_EQ(learning_rate(spec, 4), 0.8);
}

TEST(Schedule, RefusesNonsense) {
  EXPECT_NO_THROW(check_schedule({}));
  expect_schedule_refused({.kind = "cosin"}, "did you mean 'cosine'");
  expect_schedule_refused({.base = -1}, "learning rate is -1");
  expect_schedule_refused({.base = std::nan("")}, "learning rate is nan");
  expect_schedule_refused({.warmup_steps = -3}, "-3");
  expect_schedule_refused({.kind = "step", .step_size = 0}, "each 0 steps");
  expect_schedule_refused({.kind = "step", .step_size = 5, .gamma = 0},
                          "the factor of the step schedule is 0");
  expect_schedule_refused({.kind = "cosine", .warmup_steps = 9, .total_steps = 9}, "9 steps");
  expect_schedule_refused({.kind = "cosine", .final_fraction = 2, .total_steps = 9}, "is 2");
}

}  // namespace
}  // namespace plait::optim
