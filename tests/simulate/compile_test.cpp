// A plan made ready for playing: what equal workers have in common is there once.
#include "simulate/compile.hpp"

#include <gtest/gtest.h>

#include "cost/analytic.hpp"
#include "graph/zoo.hpp"
#include "strategy/strategy.hpp"

namespace plait::simulate {
namespace {

Compiled compiled(const std::string& strategy, const plan::Machine& machine, std::int64_t batch) {
  const plan::Network network = plan::make_network(graph::make_model("lenet", {1, 28, 28}, 10));
  const auto cost = cost::make_analytic_cost(network);
  return compile(
      strategy::make_plan(strategy, {.network = network, .machine = machine, .batch = batch}),
      *cost);
}

TEST(Compile, EqualWorkersHaveOneProgram) {
  EXPECT_EQ(compiled("data_parallel", {.nodes = 4, .workers_per_node = 8}, 64).programs.size(), 1U);
  // Half of them have two samples, the others one.
  EXPECT_EQ(compiled("data_parallel", {.nodes = 4, .workers_per_node = 8}, 48).programs.size(), 2U);
  // A worker of a node exchanges a part of the weights with its like in other nodes.
  EXPECT_EQ(compiled("local_sgd", {.nodes = 16, .workers_per_node = 4}, 64).programs.size(), 4U);
}

TEST(Compile, MembersOfASumHaveTheirOwnPlaces) {
  const Compiled plan = compiled("data_parallel", {.nodes = 1, .workers_per_node = 3}, 6);
  ASSERT_EQ(plan.talks.size(), 3U);
  for (int worker = 0; worker < 3; ++worker) {
    const std::vector<CompiledTalk>& talks = plan.talks[static_cast<std::size_t>(worker)];
    ASSERT_FALSE(talks.empty());
    for (const CompiledTalk& talk : talks) EXPECT_EQ(talk.member, worker);
  }
}

TEST(Compile, OwnWorkIsTakenTogether) {
  const Compiled plan = compiled("serial", {.nodes = 1, .workers_per_node = 1}, 4);
  const std::vector<CompiledTask>& tasks = plan.programs.front();
  EXPECT_GT(tasks.front().together, 3);  // all but the updates
  EXPECT_EQ(static_cast<std::size_t>(tasks.front().together) +
                static_cast<std::size_t>(
                    tasks[static_cast<std::size_t>(tasks.front().together)].together),
            tasks.size());
}

}  // namespace
}  // namespace plait::simulate
