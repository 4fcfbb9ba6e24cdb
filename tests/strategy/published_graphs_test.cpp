// Every pipeline on every published graph: a sound plan, and no slower than on the chain that the
// graph becomes when everything between two matrices is one block.
#include <gtest/gtest.h>

#include <filesystem>
#include <ostream>

#include "plan/check.hpp"
#include "simulate/simulate.hpp"
#include "strategy/pipeline_testing.hpp"
#include "strategy/published_testing.hpp"

namespace plait::strategy {
namespace {

struct GraphCase {
  std::string profile;
  int workers = 0;
};

void PrintTo(const GraphCase& one, std::ostream* out) {
  *out << one.profile << " on " << one.workers;
}

class PublishedGraphs : public testing::TestWithParam<GraphCase> {
 protected:
  void SetUp() override {
    const std::string path =
        PLAIT_SOURCE_DIR "/../shared/data/pipedream-profiles/" + GetParam().profile + ".txt";
    if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is not there";
    graph_ = cost::read_published(path);
  }

  /// With 8 microbatches. Links take no time, so that nothing but the cut counts.
  double speedup(const std::string& strategy, const cost::PublishedProfile& profile) const {
    const plan::Machine machine = one_node(GetParam().workers);
    const auto cost = cost::make_published_cost(profile);
    const plan::Plan plan = make_plan(strategy, {.network = profile.network,
                                                 .machine = machine,
                                                 .cost = cost.get(),
                                                 .batch = profile.batch,
                                                 .microbatches = 8});
    EXPECT_EQ(plan::faults(plan), std::vector<std::string>{}) << strategy;
    const double step =
        simulate::simulate(
            plan, *cost, {.minibatches = simulate::steady_minibatches(plan), .keep_events = false})
            .step_seconds;
    return total_seconds(*cost, profile.network, profile.batch) / step;
  }

  cost::PublishedProfile graph_;
};

/// Cuts are chosen for the slowest stage. Of a pipeline that is flushed the bubble counts too, and
/// a cut whose slowest stage is faster may have a longer one: up to 0.43 % (gpipe). LayerPipe
/// searches from there, on the short line of the chain sometimes with more luck. The others lose
/// nothing but by rounding.
double least_share(const std::string& strategy) {
  if (strategy == "layerpipe") return 0.9836;
  if (strategy == "layerpipe-replicated") return 0.9958;
  return strategy == "gpipe" ? 0.9957 : 1 - 1e-9;
}

TEST_P(PublishedGraphs, ArePlannedNoSlowerThanTheirMergedChains) {
  const cost::PublishedProfile chain = merged_chain(graph_);
  ASSERT_LT(chain.network.size(), graph_.network.size());
  for (const char* strategy :
       {"gpipe", "1f1b", "pipedream", "pipedream-replicated", "pipedream-2bw", "zb-h1", "zb-h2",
        "layerpipe", "layerpipe-replicated"}) {
    const double fine = speedup(strategy, graph_);
    EXPECT_GE(fine, least_share(strategy) * speedup(strategy, chain)) << strategy;
    EXPECT_LE(fine, GetParam().workers * (1 + 1e-9)) << strategy;
  }
}

/// Zero bubble is none of its candidates: it comes as far by itself.
TEST_P(PublishedGraphs, LayerPipeIsNoSlowerThanZeroBubble) {
  const double mine = speedup("layerpipe", graph_);
  for (const char* other : {"zb-h1", "zb-h2"}) {
    EXPECT_GE(mine, (1 - 1e-9) * speedup(other, graph_)) << other;
  }
}

std::vector<GraphCase> graph_cases() {
  std::vector<GraphCase> cases;
  for (const char* profile : {"alexnet", "vgg16", "resnet18", "resnet50"}) {
    for (const int workers : {2, 3, 4, 8}) cases.push_back({profile, workers});
  }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(All, PublishedGraphs, testing::ValuesIn(graph_cases()),
                         [](const auto& one) {
                           return fmt::format("{}On{}", one.param.profile, one.param.workers);
                         });

}  // namespace
}  // namespace plait::strategy
