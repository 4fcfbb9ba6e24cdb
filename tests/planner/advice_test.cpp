// What plait plan says of plans that are nearly as fast as each other, and which it puts first.
#include "planner/advice.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cost/analytic.hpp"
#include "graph/zoo.hpp"
#include "strategy/strategy.hpp"

namespace plait::planner {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class PlanAdvice : public ::testing::Test {
 protected:
  Outcome outcome(const std::string& strategy, double seconds, std::int64_t bytes) const {
    Outcome one{.plan = strategy::make_plan(strategy, {.network = network_,
                                                       .machine = machine_,
                                                       .cost = cost_.get(),
                                                       .batch = 64,
                                                       .microbatches = 2}),
                .simulation = {}};
    one.simulation.step_seconds = seconds;
    one.simulation.bytes_per_step = bytes;
    one.simulation.utilisation = 0.9;
    one.simulation.busy = {0.9, 0.9};
    one.staleness = std::ranges::max(plan::staleness(one.plan));
    one.speedup = 1 / seconds;
    return one;
  }
  std::vector<std::string> order(const std::vector<Outcome>& outcomes) const {
    std::vector<std::string> names;
    for (const Outcome* one : best_first(outcomes)) names.push_back(one->plan.strategy);
    return names;
  }

  plan::Network network_ = plan::make_network(graph::make_model("lenet", {1, 28, 28}, 10));
  std::unique_ptr<cost::CostModel> cost_ = cost::make_analytic_cost(network_);
  plan::Machine machine_{.nodes = 1,
                         .workers_per_node = 2,
                         .inside = plan::kUsualInside,
                         .between = plan::kUsualBetween};
};

TEST_F(PlanAdvice, PlainSgdComesBeforeAStaleStrategyThatIsOnePercentFaster) {
  const std::vector<Outcome> close{outcome("pipedream-2bw", 0.100, 500),
                                   outcome("data_parallel", 0.101, 9000)};
  EXPECT_THAT(order(close), ::testing::ElementsAre("data_parallel", "pipedream-2bw"));
  EXPECT_THAT(plan_advice(best_first(close), *cost_),
              HasSubstr("best: data_parallel on 2 workers"));
  EXPECT_THAT(plan_advice(best_first(close), *cost_),
              HasSubstr("pipedream-2bw, the next, is as fast, but it reads weights"));
  const std::vector<Outcome> apart{outcome("pipedream-2bw", 0.100, 500),
                                   outcome("data_parallel", 0.110, 9000)};
  EXPECT_THAT(order(apart), ::testing::ElementsAre("pipedream-2bw", "data_parallel"));
}

TEST_F(PlanAdvice, OfEqualsTheOneThatSendsLessComesFirst) {
  const std::vector<Outcome> close{outcome("data_parallel", 0.100, 9 << 20),
                                   outcome("1f1b", 0.101, 1 << 20)};
  EXPECT_THAT(order(close), ::testing::ElementsAre("1f1b", "data_parallel"));
  EXPECT_THAT(plan_advice(best_first(close), *cost_),
              HasSubstr("but it sends 9.0 MiB a step instead"));
}

TEST_F(PlanAdvice, NumbersThatReadTheSameAreNotCompared) {
  const std::vector<Outcome> close{outcome("data_parallel", 0.100, 8 << 20),
                                   outcome("layerpipe", 0.100, (8 << 20) + 100)};
  const std::string text = plan_advice(best_first(close), *cost_);
  EXPECT_THAT(text, HasSubstr("layerpipe, the next, is as fast\n"));
  EXPECT_THAT(text, Not(HasSubstr("instead of")));
}

TEST_F(PlanAdvice, LinesFitIntoEightyColumns) {
  const std::vector<Outcome> apart{outcome("pipedream-2bw", 0.100, 500),
                                   outcome("data_parallel", 0.130, 9 << 20)};
  std::istringstream lines(plan_advice(best_first(apart), *cost_));
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80U) << line;
}

TEST_F(PlanAdvice, DataParallelismIsRecognisedWhateverMadeIt) {
  EXPECT_TRUE(is_data_parallel(outcome("data_parallel", 1, 1).plan));
  EXPECT_FALSE(is_data_parallel(outcome("1f1b", 1, 1).plan));
}

}  // namespace
}  // namespace plait::planner
