// How old the weights of asynchronous pipelines are: never older than PipeDream's unless asked for,
// and what that costs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "simulate/simulate.hpp"
#include "strategy/pipeline_testing.hpp"

namespace plait::strategy {
namespace {

constexpr int kAnyStaleness = 1000;

double steady_step(const plan::Plan& plan, const cost::CostModel& cost) {
  return simulate::simulate(
             plan, cost, {.minibatches = simulate::steady_minibatches(plan), .keep_events = false})
      .step_seconds;
}

/// PipeDream has as many microbatches in flight as there are workers.
int pipedreams(int workers, int microbatches) {
  return (workers - 1 + microbatches - 1) / microbatches;
}

struct DrawnAsync {
  MadeUp made;
  plan::Machine machine;
  int microbatches = 1;

  PlanRequest request(const cost::CostModel& cost) const {
    return {.network = made.network,
            .machine = machine,
            .cost = &cost,
            .batch = 2 * microbatches,
            .microbatches = microbatches,
            .pipeline = {.asynchronous = true}};
  }
  std::string text() const {
    return fmt::format("{} blocks, {} workers, {} microbatches{}", made.network.size(),
                       machine.workers(), microbatches,
                       machine.inside.bytes_per_second > 0 ? ", a slow link" : "");
  }
};

DrawnAsync draw(Rng& rng, int round, bool few_blocks) {
  const int workers = 2 + static_cast<int>(rng.below(7));
  const int blocks = few_blocks ? (workers + 1) / 2 : workers + static_cast<int>(rng.below(6));
  const plan::Link link =
      round % 3 == 2 ? plan::Link{.bytes_per_second = 1e4, .latency_seconds = 0.01} : plan::Link{};
  return {.made = random_network(rng, blocks, few_blocks || round % 2 == 0),
          .machine = one_node(workers, link),
          .microbatches = round % 2 == 0 ? 1 : 1 + static_cast<int>(rng.below(6))};
}

class StalePipelines : public testing::TestWithParam<std::string> {};

TEST_P(StalePipelines, AreNeverStalerThanPipeDream) {
  Rng rng(31, Purpose::test);
  for (int round = 0; round < 60; ++round) {
    const DrawnAsync drawn = draw(rng, round, false);
    const TableCost cost = drawn.made.cost();
    const plan::Plan plan = make_plan(GetParam(), drawn.request(cost));
    EXPECT_THAT(plan::staleness(plan),
                testing::Each(testing::Le(pipedreams(drawn.machine.workers(), drawn.microbatches))))
        << "round " << round << ": " << drawn.text();
  }
}

INSTANTIATE_TEST_SUITE_P(Strategies, StalePipelines,
                         testing::Values("layerpipe", "layerpipe-replicated", "pipedream",
                                         "pipedream-replicated"),
                         [](const auto& one) {
                           std::string name = one.param;
                           std::erase(name, '-');
                           return name;
                         });

// PipeDream has no plan at all there, so none to fall back on.
TEST(StalenessBound, HoldsWithMoreWorkersThanBlocks) {
  Rng rng(32, Purpose::test);
  for (int planned = 0, round = 0; planned < 30; ++round) {
    ASSERT_LT(round, 60);
    const DrawnAsync drawn = draw(rng, round, true);
    const TableCost cost = drawn.made.cost();
    std::optional<plan::Plan> plan;
    try {
      plan = make_plan("layerpipe-replicated", drawn.request(cost));
    } catch (const UserError&) {
      continue;  // fewer tasks than workers
    }
    ++planned;
    EXPECT_THAT(plan::staleness(*plan),
                testing::Each(testing::Le(pipedreams(drawn.machine.workers(), drawn.microbatches))))
        << "round " << round << ": " << drawn.text();
  }
}

TEST(StalenessBound, IsTheOneAskedFor) {
  Rng rng(33, Purpose::test);
  for (int round = 0; round < 20; ++round) {
    const DrawnAsync drawn = draw(rng, round, false);
    const TableCost cost = drawn.made.cost();
    PlanRequest request = drawn.request(cost);
    for (const int bound : {0, 1, 3}) {
      request.pipeline.max_staleness = bound;
      for (const char* strategy :
           {"layerpipe", "layerpipe-replicated", "pipedream", "pipedream-replicated"}) {
        EXPECT_THAT(plan::staleness(make_plan(strategy, request)),
                    testing::Each(testing::Le(bound)))
            << strategy << ", round " << round << ": " << drawn.text();
      }
    }
  }
}

// Two per cent are given up for newer weights.
TEST(StalenessBound, CostsLittle) {
  Rng rng(34, Purpose::test);
  double sum = 0;
  constexpr int kRounds = 40;
  for (int round = 0; round < kRounds; ++round) {
    const DrawnAsync drawn = draw(rng, round, false);
    const TableCost cost = drawn.made.cost();
    PlanRequest request = drawn.request(cost);
    const double bounded = steady_step(make_plan("layerpipe-replicated", request), cost);
    const double straight = steady_step(make_plan("pipedream", request), cost);
    request.pipeline.max_staleness = kAnyStaleness;
    const double free = steady_step(make_plan("layerpipe-replicated", request), cost);
    EXPECT_LE(bounded, 1.022 * straight) << "round " << round << ": " << drawn.text();
    EXPECT_LE(bounded, 1.35 * free) << "round " << round << ": " << drawn.text();
    sum += bounded / free;
  }
  RecordProperty("mean_ratio", std::to_string(sum / kRounds));
  EXPECT_LE(sum / kRounds, 1.06);
}

// Of plans that are as fast the one with the newest weights: even blocks need no more than
// PipeDream.
TEST(StalenessBound, EvenBlocksAreAsOldAsThereAreStagesBehindThem) {
  for (int workers = 2; workers <= 6; ++workers) {
    const MadeUp made = even_network(2 * workers);
    const TableCost cost = made.cost();
    const plan::Machine machine = one_node(workers);
    PlanRequest request{.network = made.network,
                        .machine = machine,
                        .cost = &cost,
                        .batch = 4,
                        .pipeline = {.asynchronous = true}};
    request.pipeline.max_staleness = kAnyStaleness;
    const std::vector<int> delays = plan::staleness(make_plan("layerpipe", request));
    for (int b = 0; b < made.network.size(); ++b) {
      EXPECT_LE(delays[static_cast<std::size_t>(b)], workers - 1 - b / 2)
          << workers << " workers, block " << b;
    }
  }
}

TEST(PipelineRequest, IsMadeOfTheSettings) {
  PipelineOptions options{.pipeline = "async", .weights = "rebuilt"};
  EXPECT_TRUE(pipeline_request(options).asynchronous);
  EXPECT_EQ(pipeline_request(options).weights, plan::OldWeights::rebuilt);
  EXPECT_EQ(pipeline_request(options).max_staleness, kPipeDreamStaleness);
  options.max_staleness = "12";
  EXPECT_EQ(pipeline_request(options).max_staleness, 12);
  options.weights = "rebuild";
  EXPECT_THROW(pipeline_request(options), std::logic_error) << "the table of settings refuses it";
}

}  // namespace
}  // namespace plait::strategy
