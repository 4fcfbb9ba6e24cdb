// The check of plans with modes and with tasks at the end of a range: a value must be there
// whenever it is read.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plan/check.hpp"
#include "plan/hand_made.hpp"

namespace plait::plan {
namespace {

using hand_made::task;
using hand_made::tasks_of;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Plan two_modes(Plan plan) {
  plan.modes = {"calm", "wild"};
  return plan;
}

TEST(CheckModes, AGoodPlanIsGoodInAllModes) {
  for (const hand_made::Named& named : hand_made::all_plans()) {
    EXPECT_THAT(faults(two_modes(named.plan)), IsEmpty()) << named.name;
  }
}

TEST(CheckModes, AProducerInOneModeOfAConsumerInAll) {
  Plan plan = two_modes(hand_made::serial());
  task(plan, 0, TaskKind::forward, 1).when.mode = 0;
  EXPECT_THAT(faults(plan),
              Contains("worker 0, task 3 (forward of bn): reads tensor 2, which no task of this "
                       "worker writes for these samples (in mode 1)"));
  plan = two_modes(hand_made::serial());
  task(plan, 0, TaskKind::forward, 1).when.mode = 1;
  EXPECT_THAT(faults(plan), Contains(HasSubstr("reads tensor 2, which no task of this worker "
                                               "writes for these samples (in mode 0)")));
}

TEST(CheckModes, EachModeMayHaveAProducerOfItsOwn) {
  Plan plan = two_modes(hand_made::serial());
  Task& calm = task(plan, 0, TaskKind::forward, 1);
  calm.when.mode = 0;
  Task wild = calm;
  wild.when.mode = 1;
  tasks_of(plan, 0).insert(tasks_of(plan, 0).begin() + 3, wild);
  EXPECT_THAT(faults(plan), IsEmpty());
  tasks_of(plan, 0)[3].when.mode = 0;
  EXPECT_THAT(faults(plan), Contains(HasSubstr("has written for the same minibatch")));
}

TEST(CheckModes, AnUpdateInOneModeOnly) {
  Plan plan = two_modes(hand_made::serial());
  task(plan, 0, TaskKind::update, 2).when.mode = 0;
  EXPECT_THAT(faults(plan), Contains(HasSubstr("makes a gradient of bn, which this worker never "
                                               "updates (in mode 1)")));
}

TEST(CheckModes, WeightsThatComeInOneModeOnly) {
  Plan plan = two_modes(hand_made::lent_backward());
  for (const int worker : {0, 1}) {
    const TaskKind kind = worker == 0 ? TaskKind::send : TaskKind::receive;
    hand_made::message_task(plan, worker, kind, Role::weights).when.mode = 0;
  }
  EXPECT_THAT(faults(plan), Contains(HasSubstr("(backward_data of bn): reads weights that worker 0 "
                                               "updates and nobody sends here (in mode 1)")));
}

TEST(CheckModes, ASendAndItsReceiveInDifferentModes) {
  Plan plan = two_modes(hand_made::synchronous_pipeline());
  task(plan, 0, TaskKind::send).when.mode = 1;
  EXPECT_THAT(faults(plan), Contains(HasSubstr("runs for other minibatches than the send")));
}

TEST(CheckModes, AReductionInAnotherModeThanItsOthers) {
  Plan plan = two_modes(hand_made::data_parallel());
  task(plan, 1, TaskKind::reduce_sum).when.mode = 1;
  EXPECT_THAT(faults(plan), Contains(HasSubstr("runs for other minibatches than")));
}

TEST(CheckModes, AProducerAtTheEndOfARange) {
  Plan plan = hand_made::serial();
  task(plan, 0, TaskKind::forward, 1).when.at_end = true;
  EXPECT_THAT(faults(plan), Contains(HasSubstr("(forward of bn): reads tensor 2 in steps in which "
                                               "forward of pool (task 2) rests")));
}

TEST(CheckModes, AConsumerAtTheEndOfARange) {
  Plan plan = hand_made::data_parallel();
  for (const int worker : {0, 1}) {
    for (Task& one : tasks_of(plan, worker)) {
      const auto* reduce = std::get_if<Reduce>(&one.what);
      if (reduce != nullptr && reduce->bucket == 2) one.when.at_end = true;
    }
  }
  EXPECT_THAT(faults(plan), IsEmpty());
  task(plan, 1, TaskKind::reduce_start).when.at_end = true;  // of gradients, in every step
  EXPECT_THAT(faults(plan), Contains(HasSubstr("runs for other minibatches than")));
}

}  // namespace
}  // namespace plait::plan
