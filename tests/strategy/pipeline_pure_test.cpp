// LayerPipe as published has no replicas: every block's weights and their gradient are on one
// worker, wherever its line of tasks is cut. And a cut is made only where `cuts` allows it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "simulate/simulate.hpp"
#include "strategy/pipeline_testing.hpp"

namespace plait::strategy {
namespace {

using testing::Each;
using testing::SizeIs;

/// Per block: the workers that run a task of this kind.
template <class What>
std::vector<std::set<int>> workers_of(const plan::Plan& plan) {
  std::vector<std::set<int>> workers(plan.network.blocks.size());
  for (int w = 0; w < plan.workers(); ++w) {
    for (const plan::Task& task : plan.programs[static_cast<std::size_t>(w)].tasks) {
      if (plan::is<What>(task)) workers[static_cast<std::size_t>(plan::block_of(task))].insert(w);
    }
  }
  return workers;
}

/// The three tasks of every block.
struct Makers {
  explicit Makers(const plan::Plan& plan)
      : forward(workers_of<plan::Forward>(plan)),
        backward_data(workers_of<plan::BackwardData>(plan)),
        backward_weights(workers_of<plan::BackwardWeights>(plan)) {}
  std::vector<std::set<int>> forward, backward_data, backward_weights;
};

bool reduces(const plan::Plan& plan) {
  return std::ranges::any_of(plan.programs, [](const plan::Program& program) {
    return std::ranges::any_of(program.tasks, plan::is<plan::Reduce>);
  });
}

struct PureCut {
  std::string name;
  CutPlaces places;
  bool asynchronous;
};

void PrintTo(const PureCut& cut, std::ostream* out) { *out << cut.name; }

class PureLayerPipe : public testing::TestWithParam<PureCut> {
 protected:
  /// Plans of random networks, one after the other.
  template <class Body>
  static void each_plan(const std::string& strategy, const Body& body) {
    Rng rng(41, Purpose::test);
    for (int round = 0; round < 40; ++round) {
      const int workers = 2 + static_cast<int>(rng.below(5));
      const int microbatches = 1 + static_cast<int>(rng.below(6));
      const MadeUp made =
          random_network(rng, workers + static_cast<int>(rng.below(4)), round % 2 == 0);
      const TableCost cost = made.cost();
      const plan::Link slow{.bytes_per_second = 1e4, .latency_seconds = 0.01};
      const plan::Machine machine = one_node(workers, round % 3 == 2 ? slow : plan::Link{});
      const plan::Plan plan = make_plan(
          strategy,
          {.network = made.network,
           .machine = machine,
           .cost = &cost,
           .batch = 2 * microbatches,
           .microbatches = microbatches,
           .pipeline = {.asynchronous = GetParam().asynchronous, .cuts = GetParam().places}});
      SCOPED_TRACE(fmt::format("round {}: {} blocks, {} workers, {} microbatches", round,
                               made.network.size(), workers, microbatches));
      body(plan);
    }
  }
};

TEST_P(PureLayerPipe, HasEveryGradientOnOneWorker) {
  each_plan("layerpipe", [](const plan::Plan& plan) {
    const Makers makers(plan);
    for (std::size_t b = 0; b < plan.network.blocks.size(); ++b) {
      const std::size_t wanted = plan.network.blocks[b].parameters > 0 ? 1 : 0;
      EXPECT_THAT(makers.backward_weights[b], SizeIs(wanted)) << "block " << b;
    }
    EXPECT_THAT(makers.forward, Each(SizeIs(1)));
    EXPECT_FALSE(reduces(plan));
  });
}

TEST_P(PureLayerPipe, IsCutWhereItMayBe) {
  int inside_blocks = 0;
  int inside_backward_data = 0;
  each_plan("layerpipe", [&](const plan::Plan& plan) {
    const Makers makers(plan);
    for (std::size_t b = 0; b < makers.forward.size(); ++b) {
      std::set<int> all = makers.forward[b];
      all.insert(makers.backward_data[b].begin(), makers.backward_data[b].end());
      all.insert(makers.backward_weights[b].begin(), makers.backward_weights[b].end());
      inside_blocks += all.size() > 1 ? 1 : 0;
      inside_backward_data += makers.backward_data[b].size() > 1 ? 1 : 0;
    }
  });
  const CutPlaces places = GetParam().places;
  EXPECT_EQ(inside_blocks > 0, places >= CutPlaces::tasks) << inside_blocks;
  EXPECT_EQ(inside_backward_data > 0, places == CutPlaces::samples) << inside_backward_data;
}

/// The networks are such that replicas pay.
TEST_P(PureLayerPipe, IsNotWhatReplicatedOnesAre) {
  int replicated = 0;
  each_plan("layerpipe-replicated", [&](const plan::Plan& plan) { replicated += reduces(plan); });
  EXPECT_GT(replicated, 0);
}

INSTANTIATE_TEST_SUITE_P(Cuts, PureLayerPipe,
                         testing::Values(PureCut{"borders_sync", CutPlaces::borders, false},
                                         PureCut{"borders_async", CutPlaces::borders, true},
                                         PureCut{"tasks_sync", CutPlaces::tasks, false},
                                         PureCut{"tasks_async", CutPlaces::tasks, true},
                                         PureCut{"samples_sync", CutPlaces::samples, false},
                                         PureCut{"samples_async", CutPlaces::samples, true}),
                         [](const auto& one) { return one.param.name; });

/// Finer cuts include the coarser ones.
TEST(LayerPipeCuts, FinerOnesAreNoSlower) {
  const auto step = [](const PlanRequest& of, CutPlaces cuts) {
    PlanRequest request = of;
    request.pipeline.cuts = cuts;
    return simulate::simulate(make_plan("layerpipe", request), *of.cost).step_seconds;
  };
  Rng rng(43, Purpose::test);
  for (int round = 0; round < 30; ++round) {
    const int workers = 2 + static_cast<int>(rng.below(4));
    const int microbatches = 1 + static_cast<int>(rng.below(8));
    const MadeUp made = random_network(rng, 3 * workers, round % 2 == 0);
    const TableCost cost = made.cost();
    const plan::Machine machine = one_node(workers);
    const PlanRequest request{.network = made.network,
                              .machine = machine,
                              .cost = &cost,
                              .batch = 2 * microbatches,
                              .microbatches = microbatches};
    constexpr double kAsFast = 1.001;  // then the one with less memory is taken
    const double tasks = step(request, CutPlaces::tasks);
    EXPECT_LE(tasks, kAsFast * step(request, CutPlaces::borders)) << round;
    EXPECT_LE(step(request, CutPlaces::samples), kAsFast * tasks) << round;
  }
}

}  // namespace
}  // namespace plait::strategy
