// Bubbles of an even network, one block per worker, against the papers' formulas.
#include <gtest/gtest.h>

#include "simulate/simulate.hpp"
#include "strategy/pipeline_testing.hpp"

namespace plait::strategy {
namespace {

/// Seconds of a microbatch.
struct Triple {
  double forward = 1;
  double data = 1;
  double weights = 1;
  double sum() const { return forward + data + weights; }
};

plan::Plan plan_of(const std::string& strategy, int workers, int microbatches,
                   const TableCost& cost) {
  const plan::Machine machine = one_node(workers);
  const plan::Network network = even_network(workers).network;
  return make_plan(strategy, {.network = network,
                              .machine = machine,
                              .cost = &cost,
                              .batch = microbatches,
                              .microbatches = microbatches});
}

class Bubbles : public testing::TestWithParam<std::tuple<int, int>> {
 protected:
  int p() const { return std::get<0>(GetParam()); }
  int m() const { return std::get<1>(GetParam()); }
  double bubble(const std::string& strategy, const Triple& of = {}) const {
    const TableCost cost(std::vector<cost::BlockSeconds>(static_cast<std::size_t>(p()),
                                                         {of.forward, of.data, of.weights, 0}));
    return simulate::simulate(plan_of(strategy, p(), m(), cost), cost).step_seconds -
           m() * of.sum();
  }
};

TEST_P(Bubbles, OneForwardOneBackwardFillsAndDrains) {
  for (const Triple& of : {Triple{}, Triple{1, 1.5, 0.5}, Triple{0.5, 1, 2}}) {
    EXPECT_NEAR(bubble("1f1b", of), (p() - 1) * of.sum(), 1e-9);
  }
}

TEST_P(Bubbles, OfGPipeAreTheSame) {
  for (const Triple& of : {Triple{}, Triple{1, 1.5, 0.5}, Triple{0.5, 1, 2}}) {
    EXPECT_NEAR(bubble("gpipe", of), (p() - 1) * of.sum(), 1e-9);
  }
}

TEST_P(Bubbles, WeightGradientsFillThemWithTwiceAsManyInFlight) {
  for (const Triple& of : {Triple{}, Triple{1, 1.5, 0.5}}) {
    EXPECT_LE(bubble("zb-h2", of), bubble("zb-h1", of) + 1e-9);
    if (m() < 2 * p()) continue;  // there is not enough to be in flight
    EXPECT_LE(bubble("zb-h2", of), (p() - 1) * (of.forward + of.data - 2 * of.weights) + 1e-9);
  }
  EXPECT_LE(bubble("layerpipe"), bubble("zb-h2") + 1e-9);
}

TEST_P(Bubbles, OfZbH1AreSmallerByTheWeightGradients) {
  for (const Triple& of : {Triple{}, Triple{1, 1.5, 0.5}}) {
    const double saved = m() < p() ? 0 : of.weights;  // with fewer they do not fill it
    EXPECT_LE(bubble("zb-h1", of), (p() - 1) * (of.forward + of.data - saved) + 1e-9);
  }
}

INSTANTIATE_TEST_SUITE_P(Pipelines, Bubbles,
                         testing::Combine(testing::Values(2, 3, 4, 8),
                                          testing::Values(1, 2, 4, 8, 16, 32)));

/// Tasks of backward that stand before the worker's last forward.
int early_backwards(const plan::Program& program) {
  int seen = 0;
  int early = 0;
  for (const plan::Task& task : program.tasks) {
    seen += plan::is<plan::BackwardData>(task);
    if (plan::is<plan::Forward>(task)) early = seen;
  }
  return early;
}

TEST(GPipe, OfEvenBlocksRunsAllForwardsFirst) {
  const MadeUp made = even_network(4);
  const TableCost cost = made.cost();
  const plan::Plan plan = plan_of("gpipe", 4, 8, cost);
  for (const plan::Program& program : plan.programs) EXPECT_EQ(early_backwards(program), 0);
}

TEST(GPipe, RunsAllForwardsFirst) {
  MadeUp made = even_network(4);
  made.seconds[0].forward = 4;
  const TableCost cost = made.cost();
  const plan::Plan plan = plan_of("gpipe", 4, 8, cost);
  for (const plan::Program& program : plan.programs) EXPECT_EQ(early_backwards(program), 0);
}

}  // namespace
}  // namespace plait::strategy
