// Two simulations of one plan are equal to the last bit, and every task leaves its event.
#include <gtest/gtest.h>

#include <filesystem>

#include "cost/analytic.hpp"
#include "cost/published.hpp"
#include "graph/zoo.hpp"
#include "simulate/simulate.hpp"
#include "strategy/strategy.hpp"

namespace plait::simulate {
namespace {

plan::Plan vgg_plan(int nodes, int workers_per_node) {
  const plan::Network network = plan::make_network(graph::make_model("vgg11", {3, 32, 32}, 10));
  const plan::Machine machine{.nodes = nodes,
                              .workers_per_node = workers_per_node,
                              .inside = {.bytes_per_second = 5e9, .latency_seconds = 1e-6},
                              .between = {.bytes_per_second = 1e9, .latency_seconds = 1e-4}};
  return strategy::make_plan(
      "data_parallel", {.network = network, .machine = machine, .batch = 67, .microbatches = 2});
}

TEST(Simulate, TwiceGivesTheSameTrace) {
  const plan::Plan plan = vgg_plan(3, 2);
  const auto cost = cost::make_analytic_cost(plan.network);
  const Simulation a = simulate(plan, *cost);
  const Simulation b = simulate(plan, *cost);
  EXPECT_EQ(a.seconds, b.seconds);
  EXPECT_EQ(a.step_seconds, b.step_seconds);
  EXPECT_EQ(a.utilisation, b.utilisation);
  ASSERT_EQ(a.trace.workers.size(), 6U);
  for (std::size_t worker = 0; worker < 6; ++worker) {
    const std::span<const trace::Event> left = a.trace.workers[worker].events();
    const std::span<const trace::Event> right = b.trace.workers[worker].events();
    ASSERT_EQ(left.size(), right.size());
    for (std::size_t i = 0; i < left.size(); ++i) {
      ASSERT_EQ(left[i].task, right[i].task);
      ASSERT_EQ(left[i].activity, right[i].activity);
      ASSERT_EQ(left[i].begin, right[i].begin);
      ASSERT_EQ(left[i].end, right[i].end);
    }
  }
}

TEST(Simulate, EventsOfAWorkerFollowEachOtherWithoutAHole) {
  const plan::Plan plan = vgg_plan(2, 2);
  const Simulation result = simulate(plan, *cost::make_analytic_cost(plan.network));
  for (std::size_t worker = 0; worker < 4; ++worker) {
    double time = 0;
    std::size_t tasks = 0;
    for (const trace::Event& event : result.trace.workers[worker].events()) {
      ASSERT_EQ(event.begin, time);
      ASSERT_GE(event.end, event.begin);
      time = event.end;
      tasks += event.activity == trace::Activity::wait ? 0 : 1;
    }
    EXPECT_LE(time, result.seconds);
    EXPECT_EQ(tasks, 3 * plan.programs[worker].tasks.size());
  }
}

TEST(Simulate, MoreWorkersThanOneAreFasterAndNeverMoreThanPerfect) {
  const plan::Plan one = vgg_plan(1, 1);
  const plan::Plan four = vgg_plan(1, 4);
  const auto cost = cost::make_analytic_cost(one.network);
  const double alone = simulate(one, *cost).step_seconds;
  const double together = simulate(four, *cost).step_seconds;
  EXPECT_GT(alone / together, 2);
  EXPECT_LE(alone / together, 4);
}

TEST(Simulate, PublishedProfilesScalePerfectlyWhereLinksTakeNoTime) {
  const std::string path = PLAIT_SOURCE_DIR "/../shared/data/pipedream-profiles/vgg16.txt";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is not there";
  const cost::PublishedProfile profile = cost::read_published(path);
  const auto cost = cost::make_published_cost(profile);
  const auto step_seconds = [&](int workers) {
    const plan::Plan plan =
        strategy::make_plan("data_parallel", {.network = profile.network,
                                              .machine = {.workers_per_node = workers},
                                              .batch = profile.batch});
    return simulate(plan, *cost).step_seconds;
  };
  EXPECT_NEAR(step_seconds(1), 1e-3 * (233.902 + 438.633), 1e-9);
  EXPECT_NEAR(step_seconds(1) / step_seconds(8), 8, 1e-9);
}

}  // namespace
}  // namespace plait::simulate
