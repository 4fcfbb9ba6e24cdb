// Plans of random networks: what self-timed play promised, the simulator finds again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plan/check.hpp"
#include "plan/versions.hpp"
#include "simulate/simulate.hpp"
#include "strategy/pipeline_testing.hpp"

namespace plait::strategy {
namespace {

using pipeline::Urgency;

/// Long enough for the beginning not to count. Nobody works faster than the busiest worker.
double step_of(const plan::Plan& plan, const cost::CostModel& cost) {
  const std::int64_t minibatches = plan.depth() == 0 ? 3 : 40 + 10 * std::int64_t{plan.depth()};
  const simulate::Simulation all =
      simulate::simulate(plan, cost, {.minibatches = minibatches, .keep_events = false});
  EXPECT_GE(all.seconds * (1 + 1e-9),
            static_cast<double>(minibatches) * busiest_worker(plan, cost));
  return all.step_seconds;
}

std::string test_name(std::string name) {
  std::erase(name, '-');
  return name;
}

struct Drawn {
  MadeUp made;
  int workers = 2;
  int microbatches = 1;
  plan::Link link{};

  PlanRequest request(const plan::Machine& machine, const cost::CostModel& cost) const {
    return {.network = made.network,
            .machine = machine,
            .cost = &cost,
            .batch = 2 * microbatches,
            .microbatches = microbatches};
  }
  std::string text() const {
    return fmt::format("{} blocks, {} workers, {} microbatches", made.network.size(), workers,
                       microbatches);
  }
};

/// Enough blocks for every strategy.
Drawn draw(Rng& rng, int round) {
  Drawn drawn;
  drawn.workers = 2 + static_cast<int>(rng.below(7));
  drawn.microbatches = 1 + static_cast<int>(rng.below(8));
  drawn.made = random_network(rng, drawn.workers + static_cast<int>(rng.below(6)), round % 2 == 0);
  if (round % 3 == 2) drawn.link = {.bytes_per_second = 1e4, .latency_seconds = 0.01};
  return drawn;
}

class SyncPlans : public testing::TestWithParam<std::string> {};

TEST_P(SyncPlans, HaveNoDelayAndNoStepShorterThanTheirWork) {
  Rng rng(11, Purpose::test);
  for (int round = 0; round < 40; ++round) {
    const Drawn drawn = draw(rng, round);
    const TableCost cost = drawn.made.cost();
    const plan::Machine machine = one_node(drawn.workers, drawn.link);
    const PlanRequest request = drawn.request(machine, cost);
    SCOPED_TRACE(fmt::format("round {}: {}", round, drawn.text()));
    const plan::Plan plan = make_plan(GetParam(), request);
    EXPECT_EQ(plan.depth(), 0);
    EXPECT_THAT(plan::staleness(plan), testing::Each(0));
    const double step = step_of(plan, cost);
    const double total = total_seconds(cost, drawn.made.network, plan.batch);
    EXPECT_GE(step * (1 + 1e-9), total / drawn.workers);
    EXPECT_GE(step * (1 + 1e-9), busiest_worker(plan, cost));
    // nothing is lost: replicas of a block each update it, more there is not
    EXPECT_GE(busiest_worker(plan, cost) * drawn.workers * (1 + 1e-9), total);
  }
}

INSTANTIATE_TEST_SUITE_P(Pipelines, SyncPlans,
                         testing::Values("layerpipe", "layerpipe-replicated", "gpipe", "1f1b",
                                         "zb-h1", "zb-h2"),
                         [](const auto& one) { return test_name(one.param); });

struct Played {
  plan::Plan plan;
  double period = 0;
};

struct Way {
  Urgency urgency = Urgency::backward_first;
  bool replicate = false;
  int in_flight = 1;
  int minibatches = 1;
};

/// Through the parts, without a strategy's choice.
Played play_through(const PlanRequest& request, const Way& way) {
  const bool fused = way.urgency != Urgency::backward_first;
  const pipeline::TaskLine line(request, fused ? CutPlaces::borders : CutPlaces::samples);
  const auto stages = balance(line, request.machine.workers(), way.replicate);
  const auto placement = pipeline::place(stages, request.network.size(), request.microbatches);
  const auto graph = make_jobs(request, placement, {.fused = fused});
  const std::vector<int> in_flight(graph.schedule.plan.programs.size(), way.in_flight);
  const auto played = pipeline::play(
      graph, {.urgency = way.urgency, .in_flight = in_flight, .minibatches = way.minibatches});
  Played result{
      .plan = lower::write_programs(graph, pipeline::freeze(graph, played, way.minibatches > 1)),
      .period = played.period};
  plan::set_least_delays(result.plan);
  return result;
}

TEST(SelfTimed, TheSimulatorFindsWhatWasPlayed) {
  Rng rng(12, Purpose::test);
  for (int round = 0; round < 150; ++round) {
    const Drawn drawn = draw(rng, round);
    const TableCost cost = drawn.made.cost();
    const plan::Machine machine = one_node(drawn.workers);
    const Way way{.urgency = static_cast<Urgency>(round % 3),
                  .replicate = rng.below(2) == 0,
                  .in_flight = 1 + static_cast<int>(rng.below(8))};
    SCOPED_TRACE(fmt::format("round {}: {}, {} in flight", round, drawn.text(), way.in_flight));
    const Played played = play_through(drawn.request(machine, cost), way);
    ASSERT_THAT(plan::faults(played.plan), testing::IsEmpty());
    EXPECT_NEAR(simulate::simulate(played.plan, cost, {.minibatches = 1}).seconds, played.period,
                1e-9 * played.period);
    // in a loop the next minibatch may begin where others still end the last one
    EXPECT_LE(step_of(played.plan, cost), played.period * (1 + 1e-9));
    EXPECT_GE(step_of(played.plan, cost) * (1 + 1e-9), busiest_worker(played.plan, cost));
  }
}

TEST(SelfTimed, OnAWorkerNeverMoreMicrobatchesThanTheLimitHaveBegun) {
  Rng rng(15, Purpose::test);
  for (int round = 0; round < 60; ++round) {
    const Drawn drawn = draw(rng, round);
    const TableCost cost = drawn.made.cost();
    const plan::Machine machine = one_node(drawn.workers);
    const Way way{.urgency = static_cast<Urgency>(round % 3),
                  .replicate = rng.below(2) == 0,
                  .in_flight = 1 + static_cast<int>(rng.below(4))};
    const plan::Plan plan = play_through(drawn.request(machine, cost), way).plan;
    for (const plan::Program& program : plan.programs) {
      std::vector<int> left(static_cast<std::size_t>(drawn.microbatches));
      const auto is_job = [](const plan::Task& task) {
        return plan::is_compute(plan::kind_of(task)) && plan::takes_samples(task);
      };
      const auto of = [&](const plan::Task& task) -> int& {
        return left[static_cast<std::size_t>(plan::samples_of(task).begin)];
      };
      for (const plan::Task& task : program.tasks) of(task) += is_job(task);
      const std::vector<int> all = left;
      for (const plan::Task& task : program.tasks) {
        if (!is_job(task)) continue;
        int begun = of(task) == all[static_cast<std::size_t>(plan::samples_of(task).begin)];
        for (std::size_t k = 0; k < all.size(); ++k) begun += left[k] > 0 && left[k] < all[k];
        if (plan::is<plan::Forward>(task)) {  // others are never held back
          EXPECT_LE(begun, way.in_flight) << "round " << round;
        }
        --of(task);
      }
    }
  }
}

/// A loop made of one minibatch of the play; the play may have a rhythm of several.
void expect_loop(double most_slower) {
  Rng rng(16, Purpose::test);
  for (int round = 0; round < 60; ++round) {
    const Drawn drawn = draw(rng, round);
    const int in_flight = drawn.workers + static_cast<int>(rng.below(4));
    const TableCost cost = drawn.made.cost();
    const plan::Machine machine = one_node(drawn.workers);
    const Way way{.in_flight = in_flight, .minibatches = 40};
    SCOPED_TRACE(fmt::format("round {}: {}, {} in flight", round, drawn.text(), in_flight));
    const Played played = play_through(drawn.request(machine, cost), way);
    ASSERT_THAT(plan::faults(played.plan), testing::IsEmpty());
    const double step = step_of(played.plan, cost);
    EXPECT_LE(step, most_slower * played.period);
  }
}

TEST(SelfTimed, AFrozenLoopIsAtMostTwiceAsSlowAsItWasPlayed) { expect_loop(2); }

struct Async {
  std::string strategy;
  int microbatches;
  double most;  ///< of the busiest worker's seconds; measured, then rounded up
};

void PrintTo(const Async& one, std::ostream* out) { *out << one.strategy << one.microbatches; }

class AsyncPlans : public testing::TestWithParam<Async> {};

TEST_P(AsyncPlans, KeepTheirBusiestWorkerBusy) {
  Rng rng(13, Purpose::test);
  for (int round = 0; round < 30; ++round) {
    Drawn drawn = draw(rng, round);
    drawn.microbatches = GetParam().microbatches;
    const TableCost cost = drawn.made.cost();
    const plan::Machine machine = one_node(drawn.workers);
    PlanRequest request = drawn.request(machine, cost);
    request.pipeline.asynchronous = true;
    SCOPED_TRACE(fmt::format("round {}: {}", round, drawn.text()));
    const plan::Plan plan = make_plan(GetParam().strategy, request);
    const double step = step_of(plan, cost);
    const double least = busiest_worker(plan, cost);
    EXPECT_GE(step, 0.99 * least);
    EXPECT_LE(step, GetParam().most * least);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Pipelines, AsyncPlans,
    testing::Values(Async{"layerpipe", 1, 1.2}, Async{"layerpipe", 2, 1.15},
                    Async{"layerpipe", 8, 1.15}, Async{"layerpipe-replicated", 1, 1.2},
                    Async{"layerpipe-replicated", 2, 1.15}, Async{"layerpipe-replicated", 8, 1.15},
                    Async{"pipedream", 1, 1.6}, Async{"pipedream", 8, 1.4},
                    Async{"pipedream-replicated", 1, 1.6}, Async{"pipedream-replicated", 8, 1.6},
                    Async{"pipedream-2bw", 8, 1.4}),
    [](const auto& one) {
      return test_name(one.param.strategy) + std::to_string(one.param.microbatches);
    });

TEST(LayerPipe, WeightsOfEvenBlocksAreAtMostTwoStepsPerStageOld) {
  for (int workers = 2; workers <= 8; ++workers) {
    for (const int each : {1, 2, 3}) {
      const MadeUp made = even_network(each * workers);
      const TableCost cost = made.cost();
      const plan::Machine machine = one_node(workers);
      const plan::Plan plan = make_plan("layerpipe", {.network = made.network,
                                                      .machine = machine,
                                                      .cost = &cost,
                                                      .batch = 4,
                                                      .pipeline = {.asynchronous = true}});
      EXPECT_THAT(plan::staleness(plan), testing::Each(testing::Le(2 * (workers - 1))));
    }
  }
}

TEST(LayerPipe, WeightsAreAtMostTwoStepsPerStageOld) {
  Rng rng(13, Purpose::test);
  for (int round = 0; round < 60; ++round) {
    Drawn drawn = draw(rng, round);
    drawn.microbatches = 1;
    const TableCost cost = drawn.made.cost();
    const plan::Machine machine = one_node(drawn.workers);
    PlanRequest request = drawn.request(machine, cost);
    request.pipeline.asynchronous = true;
    const plan::Plan plan = make_plan("layerpipe", request);
    EXPECT_THAT(plan::staleness(plan), testing::Each(testing::Le(2 * (drawn.workers - 1))))
        << "round " << round << ": " << drawn.text();
  }
}

// In the play nothing holds a worker back that has nothing but forwards.
TEST(LayerPipe, AForwardOnAWorkerOfItsOwnDoesNotRunAhead) {
  MadeUp made = even_network(1);
  made.seconds[0].backward_data = 2;
  const TableCost cost = made.cost();
  const plan::Machine machine = one_node(2);
  const plan::Plan plan = make_plan("layerpipe", {.network = made.network,
                                                  .machine = machine,
                                                  .cost = &cost,
                                                  .batch = 4,
                                                  .pipeline = {.asynchronous = true}});
  EXPECT_LE(plan::staleness(plan)[0], 2);
  EXPECT_LE(plan.depth(), 3);
}

TEST(PipeDream, WeightsOfAStageAreAsOldAsThereAreStagesBehindIt) {
  for (int workers = 2; workers <= 8; ++workers) {
    for (const int each : {1, 2, 3}) {
      const MadeUp made = even_network(each * workers);
      const TableCost cost = made.cost();
      const plan::Machine machine = one_node(workers);
      const plan::Plan plan = make_plan(
          "pipedream", {.network = made.network, .machine = machine, .cost = &cost, .batch = 4});
      std::vector<int> expected;
      for (int b = 0; b < each * workers; ++b) expected.push_back(workers - 1 - b / each);
      EXPECT_EQ(plan::staleness(plan), expected)
          << workers << " workers, " << each << " blocks each";
      EXPECT_NEAR(step_of(plan, cost), 12.0 * each, 1e-9);
    }
  }
}

TEST(PipeDream, TwoUnevenStagesTakeAsLongAsTheLongerOne) {
  MadeUp made = even_network(2);
  made.seconds[0] = {1, 1.5, 1.5, 0};
  const TableCost cost = made.cost();
  const plan::Machine machine = one_node(2);
  const plan::Plan plan = make_plan(
      "pipedream", {.network = made.network, .machine = machine, .cost = &cost, .batch = 1});
  EXPECT_NEAR(step_of(plan, cost), 4, 1e-9);
}

TEST(PipeDream2bw, EveryBlockReadsTheVersionBeforeTheLast) {
  Rng rng(14, Purpose::test);
  for (int round = 0; round < 20; ++round) {
    const int workers = 2 + static_cast<int>(rng.below(7));
    const MadeUp made = random_network(rng, workers + 3, true);
    const TableCost cost = made.cost();
    const plan::Machine machine = one_node(workers);
    const plan::Plan plan = make_plan("pipedream-2bw", {.network = made.network,
                                                        .machine = machine,
                                                        .cost = &cost,
                                                        .batch = 2 * workers,
                                                        .microbatches = workers});
    for (int b = 0; b < made.network.size(); ++b) {
      const auto at = static_cast<std::size_t>(b);
      EXPECT_EQ(plan::staleness(plan)[at], made.network.blocks[at].parameters > 0 ? 1 : 0);
    }
  }
}

}  // namespace
}  // namespace plait::strategy
