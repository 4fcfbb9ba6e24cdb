// Speedups over one worker on PipeDream's published profiles, 32 microbatches.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <numeric>

#include "cost/published.hpp"
#include "simulate/simulate.hpp"
#include "strategy/pipeline_testing.hpp"

namespace plait::strategy {
namespace {

/// With 8 workers and links that take no time. Bounds are total / busiest worker, computed from the
/// files' columns by another program: nodes in the order of their numbers, cut between them
/// (straight), or the line F1 D1 G1 F2 ... with F and G whole (layerpipe).
struct Figures {
  std::string name;
  double straight_bound = 0;
  double async_bound = 0;  ///< of layerpipe
  double sync = 0;         ///< layerpipe, like the next ones as planned when they were recorded
  double one_f_one_b = 0;
  double zb_h2 = 0;
};

void PrintTo(const Figures& one, std::ostream* out) { *out << one.name; }

class PublishedFigures : public testing::TestWithParam<Figures> {
 protected:
  void SetUp() override {
    const std::string path =
        PLAIT_SOURCE_DIR "/../shared/data/pipedream-profiles/" + GetParam().name + ".txt";
    if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is not there";
    profile_ = cost::read_published(path);
    cost_ = cost::make_published_cost(profile_);
  }
  PlanRequest request(const plan::Machine& machine) const {
    return {.network = profile_.network,
            .machine = machine,
            .cost = cost_.get(),
            .batch = profile_.batch,
            .microbatches = 32};
  }
  double speedup(const std::string& strategy, const PlanRequest& request) const {
    return speedup(make_plan(strategy, request));
  }
  double speedup(const plan::Plan& plan) const {
    const std::int64_t minibatches = plan.depth() == 0 ? 3 : 60 + 10 * std::int64_t{plan.depth()};
    const double step =
        simulate::simulate(plan, *cost_, {.minibatches = minibatches, .keep_events = false})
            .step_seconds;
    return total_seconds(*cost_, profile_.network, profile_.batch) / step;
  }
  /// LayerPipe beside PipeDream with replicas, both asynchronous: never slower, but for up to 2 %
  /// that are given up where its weights are newer.
  void expect_no_slower(const plan::Machine& machine, const std::string& where) const {
    PlanRequest both = request(machine);
    both.pipeline.asynchronous = true;
    const plan::Plan ours = make_plan("layerpipe-replicated", both);
    const plan::Plan theirs = make_plan("pipedream-replicated", both);
    const bool newer = age(ours) < age(theirs);
    EXPECT_GE(speedup(ours) / speedup(theirs), newer ? 1 - 2.2e-2 : 1 - 3e-3) << where;
  }
  /// The oldest block's updates, then the sum over all blocks.
  static std::pair<int, int> age(const plan::Plan& plan) {
    const std::vector<int> delays = plan::staleness(plan);
    return {std::ranges::max(delays), std::accumulate(delays.begin(), delays.end(), 0)};
  }

  cost::PublishedProfile profile_;
  std::unique_ptr<cost::CostModel> cost_;
};

TEST_P(PublishedFigures, LayerPipeReachesThem) {
  const plan::Machine machine = one_node(8);
  PlanRequest of = request(machine);
  const pipeline::TaskLine line(of, CutPlaces::samples);
  const auto stages = balance(line, 8, false);
  const double bound = line.total() / busiest(line, stages);
  EXPECT_NEAR(bound, GetParam().async_bound, 0.005 * GetParam().async_bound);
  EXPECT_GE(speedup("layerpipe", of), 0.995 * GetParam().sync);
  of.pipeline.asynchronous = true;
  const double async = speedup("layerpipe", of);
  EXPECT_GE(async, 0.97 * bound);
  EXPECT_LE(async, 1.005 * bound);
}

TEST_P(PublishedFigures, StraightPipelinesReachThem) {
  const plan::Machine machine = one_node(8);
  const pipeline::TaskLine line(request(machine), CutPlaces::borders);
  const auto stages = balance(line, 8, false);
  EXPECT_NEAR(line.total() / busiest(line, stages), GetParam().straight_bound, 0.005);
  const double pipedream = speedup("pipedream", request(machine));
  EXPECT_GE(pipedream, 0.99 * GetParam().straight_bound);
  EXPECT_LE(pipedream, 1.005 * GetParam().straight_bound);
  const double one_f_one_b = speedup("1f1b", request(machine));
  const double zb_h2 = speedup("zb-h2", request(machine));
  EXPECT_GT(zb_h2, one_f_one_b);
  EXPECT_NEAR(one_f_one_b, GetParam().one_f_one_b, 0.01 * GetParam().one_f_one_b);
  EXPECT_NEAR(zb_h2, GetParam().zb_h2, 0.01 * GetParam().zb_h2);
}

TEST_P(PublishedFigures, LayerPipeIsNeverSlowerThanReplicas) {
  for (const int workers : {2, 5, 8, 13}) {
    expect_no_slower(one_node(workers, {.bytes_per_second = 10e9}),
                     fmt::format("{} workers of one node", workers));
    expect_no_slower({.nodes = workers, .between = {.bytes_per_second = 1.25e9}},
                     fmt::format("{} nodes", workers));
  }
}

INSTANTIATE_TEST_SUITE_P(Pipelines, PublishedFigures,
                         testing::Values(Figures{"vgg16", 4.22, 7.16, 7.10, 4.03, 4.22},
                                         Figures{"resnet18", 6.97, 7.75, 7.53, 6.00, 6.83},
                                         Figures{"resnet50", 7.59, 7.95, 7.72, 6.46, 7.45},
                                         Figures{"alexnet", 2.97, 3.82, 3.60, 2.93, 2.97}),
                         [](const auto& one) { return one.param.name; });

}  // namespace
}  // namespace plait::strategy
