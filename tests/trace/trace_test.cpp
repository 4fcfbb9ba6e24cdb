// WorkerTrace: totals of everything, events of the last steps only, in bounded memory.
#include "trace/trace.hpp"

#include <gtest/gtest.h>

namespace plait::trace {
namespace {

Event event_at(std::int64_t step, Activity activity = Activity::compute) {
  const auto begin = static_cast<double>(step);
  return {.task = 1,
          .activity = activity,
          .minibatch = step,
          .step = step,
          .begin = begin,
          .end = begin + 0.5,
          .bytes = 3};
}

TEST(WorkerTrace, KeepsEverythingUnlessTold) {
  WorkerTrace trace;
  for (int step = 0; step < 100; ++step) trace.add(event_at(step));
  ASSERT_EQ(trace.events().size(), 100U);
  EXPECT_EQ(trace.events().front().step, 0);
  EXPECT_EQ(trace.events().back().step, 99);
}

TEST(WorkerTrace, KeepsTheLastStepsInOrder) {
  for (const int keep : {1, 2, 7}) {
    WorkerTrace trace(keep);
    for (int step = 0; step < 50; ++step) {
      for (int i = 0; i < 3; ++i) trace.add(event_at(step));
      const int kept = std::min(step + 1, keep);
      ASSERT_EQ(trace.events().size(), static_cast<std::size_t>(3 * kept)) << step;
      for (std::size_t i = 0; i < trace.events().size(); ++i) {
        ASSERT_EQ(trace.events()[i].step, step - kept + 1 + static_cast<int>(i) / 3);
      }
    }
  }
}

TEST(WorkerTrace, TellsTheLastSteps) {
  WorkerTrace trace(10);
  EXPECT_TRUE(trace.last(3).empty());
  for (const int step : {0, 1, 1, 4, 5, 5}) trace.add(event_at(step));
  EXPECT_EQ(trace.last(1).size(), 2U);
  EXPECT_EQ(trace.last(2).size(), 3U);
  EXPECT_EQ(trace.last(4).front().step, 4);
  EXPECT_EQ(trace.last(5).front().step, 1);
  EXPECT_EQ(trace.last(99).size(), 6U);
}

TEST(WorkerTrace, StepsMayBeSkipped) {
  WorkerTrace trace(10);
  for (const int step : {0, 1, 2, 50, 55, 60}) trace.add(event_at(step));
  ASSERT_EQ(trace.events().size(), 2U);
  EXPECT_EQ(trace.events()[0].step, 55);
  EXPECT_EQ(trace.events()[1].step, 60);
}

TEST(WorkerTrace, OldEventsGiveTheirMemoryBack) {
  WorkerTrace trace(4);
  for (int step = 0; step < 100'000; ++step) trace.add(event_at(step));
  // What is kept lies in one piece that began where the last move put it.
  const Event* const first = trace.events().data();
  for (int step = 100'000; step < 100'100; ++step) {
    trace.add(event_at(step));
    EXPECT_LT(std::abs(trace.events().data() - first), 16);
  }
}

TEST(WorkerTrace, TotalsCountWhatIsNotKept) {
  WorkerTrace trace(0);
  trace.add(event_at(0));
  trace.add(event_at(1));
  trace.add(event_at(2, Activity::communicate));
  trace.add(event_at(3, Activity::wait));
  trace.add(event_at(4, Activity::wait));
  trace.add(event_at(5, Activity::wait));
  EXPECT_TRUE(trace.events().empty());
  EXPECT_EQ(trace.totals().events, 6);
  EXPECT_EQ(trace.totals().bytes, 18);
  EXPECT_DOUBLE_EQ(trace.totals().compute, 1.0);
  EXPECT_DOUBLE_EQ(trace.totals().communicate, 0.5);
  EXPECT_DOUBLE_EQ(trace.totals().wait, 1.5);
}

TEST(Shares, AreOfTheTimeGiven) {
  const Shares result = shares({.compute = 2, .communicate = 1, .wait = 0.5}, 4);
  EXPECT_DOUBLE_EQ(result.busy, 0.5);
  EXPECT_DOUBLE_EQ(result.communication, 0.25);
  EXPECT_DOUBLE_EQ(result.wait, 0.125);
  EXPECT_DOUBLE_EQ(shares({.compute = 2}, 0).busy, 0);
}

}  // namespace
}  // namespace plait::trace
