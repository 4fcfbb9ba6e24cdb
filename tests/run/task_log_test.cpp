// TaskLog: events with their activity and bytes, and the status while a worker waits.
#include "run/task_log.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

namespace plait::run {
namespace {

class TaskLogTest : public testing::Test {
 protected:
  WorkerState state() const { return static_cast<WorkerState>(status_.state.load()); }

  trace::WorkerTrace trace_;
  WorkerStatus status_{};
  TaskLog log_{trace_, status_};
  const TaskRun at_{.task = 3, .minibatch = 5, .step = 6};
};

TEST_F(TaskLogTest, ShowsTheTaskOnTheBoard) {
  log_.begin_task(at_);
  EXPECT_EQ(state(), WorkerState::working);
  EXPECT_EQ(status_.task.load(), 3);
  EXPECT_EQ(status_.minibatch.load(), 5);
  EXPECT_EQ(status_.step.load(), 6);
}

TEST_F(TaskLogTest, WaitsInStateWaiting) {
  WorkerState inside{};
  log_.waiting(at_, [&] {
    inside = state();
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  });
  EXPECT_EQ(inside, WorkerState::waiting);
  EXPECT_EQ(state(), WorkerState::working);
  ASSERT_EQ(trace_.events().size(), 1);
  EXPECT_EQ(trace_.events()[0].activity, trace::Activity::wait);
  EXPECT_GE(trace_.events()[0].end - trace_.events()[0].begin, 0.002);
}

TEST_F(TaskLogTest, RecordsTaskStepAndBytes) {
  log_.next_step();
  log_.next_step();
  const double begin = now_seconds();
  log_.computed(at_, begin);
  log_.communicated(at_, begin, 100);
  ASSERT_EQ(trace_.events().size(), 2);
  const trace::Event& compute = trace_.events()[0];
  EXPECT_EQ(compute.activity, trace::Activity::compute);
  EXPECT_EQ(compute.task, 3);
  EXPECT_EQ(compute.minibatch, 5);
  EXPECT_EQ(compute.step, 6);
  EXPECT_EQ(compute.play, 2);
  EXPECT_EQ(trace_.events()[1].activity, trace::Activity::communicate);
  EXPECT_EQ(trace_.events()[1].bytes, 100);
}

TEST_F(TaskLogTest, ShowsTheWaitOfAnExchangeFirst) {
  const double begin = now_seconds() - 1;
  log_.exchanged(at_, {.begin = begin, .waited = 0.25, .bytes = 64});
  log_.exchanged(at_, {.begin = begin, .waited = 0, .bytes = 32});
  ASSERT_EQ(trace_.events().size(), 3);
  const trace::Event& wait = trace_.events()[0];
  const trace::Event& exchange = trace_.events()[1];
  EXPECT_EQ(wait.activity, trace::Activity::wait);
  EXPECT_NEAR(wait.end - wait.begin, 0.25, 1e-9);
  EXPECT_EQ(exchange.activity, trace::Activity::communicate);
  EXPECT_EQ(exchange.begin, wait.end);
  EXPECT_GE(exchange.end - wait.begin, 1);
  EXPECT_EQ(exchange.bytes, 64);
  EXPECT_EQ(trace_.events()[2].activity, trace::Activity::communicate);
}

TEST_F(TaskLogTest, CountsSecondsFromTheLastRestart) {
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  log_.restart_clock();
  log_.computed(at_, now_seconds());
  EXPECT_LT(trace_.events()[0].begin, 0.004);
}

}  // namespace
}  // namespace plait::run
