// A cluster: 1024 workers x resnet1001. It must come to its end; the seconds are only printed,
// because they are the machine's.
#include <gtest/gtest.h>

#include "base/clock.hpp"
#include "base/memory.hpp"
#include "cost/analytic.hpp"
#include "graph/zoo.hpp"
#include "simulate/simulate.hpp"
#include "strategy/strategy.hpp"

namespace plait::simulate {
namespace {

TEST(SimulateLarge, AThousandWorkersTimesResnet1001) {
  const plan::Network network =
      plan::make_network(graph::make_model("resnet1001", {3, 32, 32}, 10));
  const plan::Machine machine{.nodes = 128,
                              .workers_per_node = 8,
                              .inside = {.bytes_per_second = 10e9, .latency_seconds = 1e-6},
                              .between = {.bytes_per_second = 1.25e9, .latency_seconds = 1e-5}};
  const auto cost = cost::make_analytic_cost(network);
  const Stopwatch planning;
  const plan::Plan plan =
      strategy::make_plan("data_parallel", {.network = network, .machine = machine, .batch = 8192});
  const double planned = planning.seconds();
  const Stopwatch playing;
  const Simulation result = simulate(plan, *cost, {.minibatches = 3, .keep_events = false});
  fmt::print(
      "{} workers x {} tasks: plan with check {:.2f} s, 3 minibatches simulated {:.2f} s, "
      "{:.0f} MB\n",
      plan.workers(), plan.programs[0].tasks.size(), planned, playing.seconds(),
      static_cast<double>(peak_memory_bytes()) / 1e6);
  EXPECT_EQ(plan.workers(), 1024);
  EXPECT_GT(plan.programs[0].tasks.size(), 1300U);
  EXPECT_GT(result.step_seconds, 0);
  EXPECT_GT(result.utilisation, 0);
  EXPECT_LT(result.utilisation, 1);
  // Every gradient and every running statistic goes to its shard's member and comes back.
  std::int64_t numbers = network.parameters();
  for (const plan::NetworkBlock& block : network.blocks) numbers += block.state;
  EXPECT_EQ(result.bytes_per_step, 2 * 1023 * 4 * numbers);
}

}  // namespace
}  // namespace plait::simulate
