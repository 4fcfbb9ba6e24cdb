// Who held the others up. tests/report has the search itself, tests/cluster a run with a slow
// worker.
#include "cli/straggler.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plait::cli {
namespace {

/// Workers whose only task takes so many milliseconds.
trace::Trace trace_of(const std::vector<double>& milliseconds, int steps = 10) {
  trace::Trace trace;
  for (const double one : milliseconds) {
    trace::WorkerTrace& worker = trace.workers.emplace_back();
    for (int step = 0; step < steps; ++step) {
      worker.add(
          {.minibatch = step, .step = step, .begin = 0.1 * step, .end = 0.1 * step + 1e-3 * one});
    }
  }
  return trace;
}

std::optional<report::Straggler> found(const std::vector<double>& planned,
                                       const std::vector<double>& measured, int steps = 10) {
  session::TrainResult result;
  result.plan.network.blocks.push_back({.name = "fc"});
  for (std::size_t i = 0; i < measured.size(); ++i) {
    result.plan.programs.push_back({.tasks = {{.what = plan::Forward{.block = 0}}}});
  }
  result.trace = trace_of(measured, steps);
  report::Prediction prediction;
  prediction.trace = trace_of(planned);
  return straggler_of(result, prediction);
}

TEST(Straggler, IsNamedWithItsCost) {
  const auto slow = found({5, 5, 5, 5}, {4, 4, 40, 4});
  ASSERT_TRUE(slow);
  EXPECT_EQ(slow->worker, 2);
  EXPECT_THAT(
      straggler_text(*slow),
      testing::HasSubstr("worker 2 is the straggler: it computes 40.0 ms a step, the others "
                         "4.0 ms; that costs about 36.0 ms of every step"));
}

TEST(Straggler, IsNotOneWhoHasMoreWork) {
  EXPECT_FALSE(found({2, 9}, {2, 9}));
  EXPECT_FALSE(found({2, 9}, {3, 14}));
  EXPECT_TRUE(found({2, 9}, {9, 4}));
}

TEST(Straggler, NeedsMoreThanTwoSteps) { EXPECT_FALSE(found({5, 5, 5, 5}, {4, 4, 40, 4}, 2)); }

TEST(Straggler, NeedsOthers) { EXPECT_FALSE(found({5}, {50})); }

}  // namespace
}  // namespace plait::cli
