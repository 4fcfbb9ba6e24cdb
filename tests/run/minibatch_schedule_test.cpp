// MinibatchSchedule: number, size and learning rate of the minibatches of a run.
#include "session/minibatch_schedule.hpp"

#include <gtest/gtest.h>

#include "plan/hand_made.hpp"

namespace plait::run {
namespace {

class MinibatchScheduleTest : public testing::Test {
 protected:
  MinibatchScheduleTest() {
    config_.model = "mlp:8";
    config_.batch = 32;
    config_.train_limit = 100;  // three of 32 and one of 4
    config_.test_limit = 10;
    config_.epochs = 2;
    setup_ = make_setup(config_);
  }
  session::MinibatchSchedule schedule(const plan::Plan& plan = plan::hand_made::serial(),
                                      std::size_t worker = 0) {
    plan_ = plan;
    return {config_, setup_, plan_.programs[worker]};
  }

  session::TrainConfig config_;
  plait::session::Setup setup_;  // testing::Test has a Setup of its own
  plan::Plan plan_;
};

TEST_F(MinibatchScheduleTest, CountsEpochsOrSteps) {
  EXPECT_EQ(schedule().per_epoch(), 4);
  EXPECT_EQ(schedule().total_steps(), 8);
  EXPECT_EQ(schedule().epochs(), 2);
  config_.steps = 9;
  EXPECT_EQ(schedule().total_steps(), 9);
  EXPECT_EQ(schedule().epochs(), 3);
}

TEST_F(MinibatchScheduleTest, TheLastOfAnEpochIsSmaller) {
  const session::MinibatchSchedule minibatches = schedule();
  EXPECT_EQ(minibatches.of(2).samples, 32);
  EXPECT_EQ(minibatches.of(3).samples, 4);
  EXPECT_EQ(minibatches.of(4).samples, 32);
  EXPECT_EQ(minibatches.samples(2, 5), 68);
  EXPECT_EQ(minibatches.weight(1, 4), 100);
}

TEST_F(MinibatchScheduleTest, AWorkerLoadsItsShare) {
  EXPECT_EQ(schedule(plan::hand_made::data_parallel(), 1).stream()->load(0, 3).size(), 2);
  EXPECT_EQ(schedule(plan::hand_made::synchronous_pipeline(), 1).stream()->load(0, 3).size(), 4);
  EXPECT_EQ(schedule(plan::hand_made::lent_backward(), 1).stream()->load(0, 3).size(), 0);
  EXPECT_EQ(schedule(plan::hand_made::data_parallel(), 1).of(3).samples, 4);  // of all workers
}

TEST_F(MinibatchScheduleTest, RatesFollowTheSchedule) {
  config_.lr = 0.5;
  config_.warmup_steps = 4;
  EXPECT_LT(schedule().rate(0), 0.5);
  EXPECT_EQ(schedule().rate(6), 0.5);
  EXPECT_EQ(schedule().of(6).learning_rate, 0.5);
}

}  // namespace
}  // namespace plait::run
