// A plan is never slower than simple ones that its strategy could have: on made-up networks whose
// costs are as uneven as those of a profile from a busy machine.
#include <gtest/gtest.h>

#include "simulate/simulate.hpp"
#include "strategy/pipeline_testing.hpp"

namespace plait::strategy {
namespace {

double seconds_of(const std::string& strategy, const PlanRequest& request) {
  const plan::Plan plan = make_plan(strategy, request);
  return simulate::simulate(
             plan, *request.cost,
             {.minibatches = simulate::steady_minibatches(plan), .keep_events = false})
      .step_seconds;
}

TEST(SimplePlans, AreCandidatesOfPipedream) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    Rng rng(seed, Purpose::test);
    const MadeUp made = random_network(rng, 8 + static_cast<int>(rng.below(5)), true);
    const TableCost cost = made.cost();
    const plan::Machine machine = one_node(2 + static_cast<int>(rng.below(2)));
    const int microbatches = 2 << rng.below(2);
    const PlanRequest request{.network = made.network,
                              .machine = machine,
                              .cost = &cost,
                              .batch = 4 * microbatches,
                              .microbatches = microbatches};
    const double pipedream = seconds_of("pipedream", request);
    EXPECT_LE(pipedream, 1.001 * seconds_of("1f1b", request)) << "seed " << seed;
    EXPECT_LE(seconds_of("pipedream-replicated", request), 1.001 * pipedream) << "seed " << seed;
  }
}

/// Asynchronous pipelines have no barrier, so nobody waits long for anybody but the busiest worker.
TEST(SimplePlans, ForwardsOfPipedreamAreNotInterruptedByGradientsThatComeLate) {
  int slow = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Rng rng(seed, Purpose::test);
    const MadeUp made = random_network(rng, 10, true);
    const TableCost cost = made.cost();
    const plan::Machine machine = one_node(2);
    const PlanRequest request{
        .network = made.network, .machine = machine, .cost = &cost, .batch = 8, .microbatches = 2};
    const plan::Plan plan = make_plan("pipedream", request);
    if (seconds_of("pipedream", request) > 1.25 * busiest_worker(plan, cost)) ++slow;
  }
  EXPECT_EQ(slow, 0);
}

}  // namespace
}  // namespace plait::strategy
