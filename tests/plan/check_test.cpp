// The plan check as a whole: good plans pass, deadlocks and memory are reported. Single faults are
// in check_faults_test.cpp.
#include "plan/check.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "plan/hand_made.hpp"
#include "plan/memory.hpp"

namespace plait::plan {
namespace {

using hand_made::erase;
using hand_made::tasks_of;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;

TEST(Check, FindsNothingInGoodPlans) {
  for (const auto& [name, plan] : hand_made::all_plans()) {
    EXPECT_THAT(faults(plan), IsEmpty()) << name;
    EXPECT_NO_THROW(check_plan(plan)) << name;
  }
}

TEST(Check, ADeadlockNamesFourWorkersAndCountsTheOthers) {
  Plan plan = hand_made::empty_plan("ring", 6);
  for (int worker = 0; worker < 6; ++worker) {
    tasks_of(plan, worker) = {{.what = Receive{{.value = {.index = 1}, .peer = (worker + 5) % 6}}},
                              {.what = Send{{.value = {.index = 1}, .peer = (worker + 1) % 6}}}};
  }
  const std::vector<std::string> found = faults(plan);
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_THAT(found[0], AllOf(HasSubstr("worker 3 waits in receive of tensor 1 from worker 2"),
                              HasSubstr("; and 2 more"), Not(HasSubstr("worker 4 waits"))));
}

TEST(Check, ARingThatSendsFirstIsFine) {
  Plan plan = hand_made::empty_plan("ring", 6);
  for (int worker = 0; worker < 6; ++worker) {
    const int before = (worker + 5) % 6;
    const int after = (worker + 1) % 6;
    hand_made::Writer write(plan.programs[static_cast<std::size_t>(worker)]);
    write.with.samples = part_of(worker, 6);
    write.task(TaskKind::load).message(TaskKind::send, 0, false, after);
    write.with.samples = part_of(before, 6);
    write.message(TaskKind::receive, 0, false, before);
  }
  EXPECT_THAT(faults(plan), IsEmpty());
}

TEST(Check, FindsADeadlockThatOnlyTheSteadyStateHas) {
  // step 1: worker 0 wants tensor 1 of minibatch 0 before it sends tensor 0 of minibatch 1, worker
  // 1 the other way round; a single minibatch would come through
  Plan plan = hand_made::empty_plan("late", 2);
  tasks_of(plan, 0) = {{.what = Load{}},
                       {.when = {.offset = 1}, .what = Receive{{.value = {.index = 1}, .peer = 1}}},
                       {.what = Send{{.value = {.index = 0}, .peer = 1}}}};
  tasks_of(plan, 1) = {{.what = Receive{{.value = {.index = 0}, .peer = 0}}},
                       {.what = Forward{.block = 0}},
                       {.when = {.offset = 1}, .what = Send{{.value = {.index = 1}, .peer = 0}}}};
  EXPECT_THAT(faults(plan),
              Contains(AllOf(HasSubstr("worker 0 waits in receive of tensor 1 from worker 1 (task "
                                       "1, step 1, minibatch 0)"),
                             HasSubstr("worker 1 waits in receive of tensor 0 from worker 0 (task "
                                       "0, step 1, minibatch 1)"))));
  std::swap(tasks_of(plan, 0)[1], tasks_of(plan, 0)[2]);
  EXPECT_THAT(faults(plan), IsEmpty());
}

TEST(Check, ComparesMinibatchesNotSteps) {
  // every third minibatch, the second worker a step late
  Plan plan = hand_made::empty_plan("rare", 2);
  tasks_of(plan, 0) = {{.when = {.every = 3}, .what = Load{}},
                       {.when = {.every = 3}, .what = Send{{.value = {.index = 0}, .peer = 1}}}};
  tasks_of(plan, 1) = {
      {.when = {.offset = 1, .every = 3, .phase = 1},
       .what = Receive{{.value = {.index = 0}, .peer = 0}}},
      {.when = {.offset = 1, .every = 3, .phase = 1}, .what = Forward{.block = 0}}};
  EXPECT_THAT(faults(plan), IsEmpty());
  tasks_of(plan, 1)[0].when.phase = 0;
  EXPECT_THAT(faults(plan), Contains(HasSubstr("runs for other minibatches than the send")));
}

TEST(Check, ATaskMayReadAPartOfWhatAnotherWrote) {
  Plan plan = hand_made::serial(2);
  std::vector<Task>& tasks = tasks_of(plan, 0);
  std::erase_if(tasks, [](const Task& t) { return is<Load>(t); });
  tasks.insert(tasks.begin(), {.what = Load{}});
  EXPECT_THAT(faults(plan), IsEmpty());
}

TEST(Check, APlanOfForwardsOnlyIsFine) {
  Plan plan = hand_made::empty_plan("evaluation", 1);
  hand_made::Writer(plan.programs[0]).task(TaskKind::load).forward(0, 3);
  EXPECT_THAT(faults(plan), IsEmpty());
}

TEST(Check, MemoryThatDoesNotFitIsTheUsersMistake) {
  Plan plan = hand_made::data_parallel();
  plan.machine.memory_per_worker = estimate_memory(plan, 0);
  EXPECT_THAT(faults(plan), IsEmpty());
  plan.machine.memory_per_worker -= 1;
  EXPECT_THAT(faults(plan), Contains(AllOf(StartsWith("worker 0 needs about"),
                                           HasSubstr("(2 of 2 workers need more)"))));
  EXPECT_THROW(check_plan(plan), UserError);
}

TEST(Check, StopsCountingAtAHundred) {
  Plan plan = hand_made::data_parallel(64);
  plan.batch = 64;
  for (int worker = 0; worker < 64; ++worker) erase(plan, worker, TaskKind::load);
  ASSERT_THAT(faults(plan), SizeIs(101));
  EXPECT_THAT(faults(plan).back(), StartsWith("and "));
}

TEST(Check, FailureNamesTheStrategyAndTheFirstFault) {
  Plan plan = hand_made::serial();
  erase(plan, 0, TaskKind::update, 2);
  try {
    check_plan(plan);
    FAIL();
  } catch (const Failure& failure) {
    EXPECT_THAT(failure.what(), StartsWith("the plan of strategy 'serial' is wrong: worker 0"));
    EXPECT_THAT(failure.what(), HasSubstr("(the first of 2 faults)"));
  }
}

}  // namespace
}  // namespace plait::plan
