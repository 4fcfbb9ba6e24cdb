// Nodes with weights of their own: the plans of daso, local_sgd and diloco.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "base/error.hpp"
#include "cost/analytic.hpp"
#include "graph/model_file.hpp"
#include "simulate/simulate.hpp"
#include "strategy/strategy.hpp"

namespace plait::strategy {
namespace {

using testing::HasSubstr;

class ReplicaPlans : public testing::Test {
 protected:
  plan::Plan plan(const std::string& strategy, int nodes, int places) {
    machine_ = {.nodes = nodes, .workers_per_node = places};
    machine_.between = {.bytes_per_second = 12.5e6, .latency_seconds = 1e-4};
    PlanRequest request{.network = network_, .machine = machine_, .batch = 64};
    request.exchange = exchange_;
    return make_plan(strategy, request);
  }
  std::string refusal(const std::string& strategy, int nodes, int places) {
    try {
      plan(strategy, nodes, places);
    } catch (const UserError& error) {
      return error.what();
    }
    return "no UserError";
  }
  /// Bytes of all workers in a step, in the mean.
  std::int64_t bytes(const plan::Plan& of, int mode = 0) {
    const auto cost = cost::make_analytic_cost(network_);
    return simulate::simulate(of, *cost, {.minibatches = 48, .keep_events = false, .mode = mode})
        .bytes_per_step;
  }

  plan::Network network_ = plan::make_network(graph::load_model("mlp:128-64", {1, 28, 28}, 10));
  plan::Machine machine_;
  ExchangeRequest exchange_;
};

TEST_F(ReplicaPlans, AreSoundOnAnyMachine) {
  for (const std::string strategy : {"daso", "local_sgd", "diloco"}) {
    for (const int nodes : {2, 3, 4}) {
      for (const int places : {1, 2, 3}) EXPECT_NO_THROW(plan(strategy, nodes, places));
    }
  }
}

TEST_F(ReplicaPlans, EveryWorkerSendsItsPartOfTheWeightsOnceInEvery) {
  const std::int64_t all = 4 * network_.parameters();
  exchange_.every = 4;
  // Two nodes: half of the weights to the other one, and half of the sums back.
  EXPECT_NEAR(static_cast<double>(bytes(plan("daso", 2, 1))), 2.0 * static_cast<double>(all) / 4,
              0.03 * static_cast<double>(all));
  exchange_.half = true;
  EXPECT_NEAR(static_cast<double>(bytes(plan("daso", 2, 1))), 1.0 * static_cast<double>(all) / 4,
              0.03 * static_cast<double>(all));
}

TEST_F(ReplicaPlans, ModesCycleAndTheLastOneBlocks) {
  const std::vector<ExchangeMode> modes = daso_modes(exchange_);
  ASSERT_EQ(modes.size(), 5U);
  EXPECT_EQ(modes[0], (ExchangeMode{4, 1, plan::MergeKind::corrected}));
  EXPECT_EQ(modes[1], (ExchangeMode{2, 1, plan::MergeKind::corrected}));
  EXPECT_EQ(modes[2], (ExchangeMode{1, 1, plan::MergeKind::corrected}));
  EXPECT_EQ(modes[3], (ExchangeMode{8, 2, plan::MergeKind::corrected}));
  EXPECT_EQ(modes[4], (ExchangeMode{1, 0, plan::MergeKind::average}));
  EXPECT_EQ(plan("daso", 2, 2).modes.size(), modes.size());
  EXPECT_EQ(plan("daso", 2, 2).depth(), 2);
}

TEST_F(ReplicaPlans, AnImprovingLossStaysWithTheFirstMode) {
  const ExchangeRequest request{.warmup = 2, .cooldown = 3};
  std::vector<double> losses;
  for (int epoch = 0; epoch < 20; ++epoch) {
    const int wanted = epoch < 2 || epoch >= 17 ? 4 : 0;
    EXPECT_EQ(daso_mode(request, {.epochs = 20, .losses = losses}), wanted) << epoch;
    losses.push_back(2.0 * std::pow(0.9, epoch));
  }
}

TEST_F(ReplicaPlans, PatienceIsHowManyEpochsALossMayStay) {
  for (const int patience : {1, 2, 5}) {
    ReplicaOptions options;
    options.exchange_patience = patience;
    options.warmup_epochs = 0;
    std::vector<double> losses(static_cast<std::size_t>(patience), 2.0);
    const auto mode = [&] {
      return daso_mode(exchange_request(options), {.epochs = 20, .losses = losses});
    };
    EXPECT_EQ(mode(), 0);
    losses.push_back(2.0);
    EXPECT_EQ(mode(), 1) << patience << " epochs after the first without improvement";
  }
}

TEST_F(ReplicaPlans, HaveAnySynchronousStrategyInside) {
  for (const std::string strategy : {"daso", "local_sgd", "diloco"}) {
    for (const std::string inner :
         {"data_parallel", "layerpipe", "gpipe", "1f1b", "zb-h1", "parareal", "sparse_rows"}) {
      exchange_.inner = inner;
      EXPECT_NO_THROW(plan(strategy, 3, 2)) << strategy << " " << inner;
    }
  }
  exchange_.inner = "pipedream";
  EXPECT_THAT(refusal("daso", 2, 2),
              HasSubstr("`inner` pipedream: inside a node stale weights are read"));
  exchange_.inner = "daso";
  EXPECT_THAT(refusal("daso", 2, 2), HasSubstr("cannot run inside one; use `inner` data_parallel"));
  exchange_.inner = "dasoo";
  EXPECT_THAT(refusal("daso", 2, 2), HasSubstr("did you mean 'daso'"));
}

/// Who holds a block meets those who hold it elsewhere; nobody else does.
TEST_F(ReplicaPlans, ExchangeWhatEachWorkerOfANodeHolds) {
  exchange_.inner = "1f1b";
  const plan::Plan made = plan("daso", 2, 2);
  for (const plan::Program& program : made.programs) {
    std::set<int> updated;
    std::set<int> exchanged;
    for (const plan::Task& task : program.tasks) {
      if (plan::is<plan::Update>(task)) updated.insert(plan::block_of(task));
      const auto* reduce = std::get_if<plan::Reduce>(&task.what);
      if (reduce == nullptr || reduce->move != plan::Move::start) continue;
      const auto bucket = static_cast<std::size_t>(reduce->bucket);
      const std::vector<int>& blocks = made.buckets[bucket].blocks;
      exchanged.insert(blocks.begin(), blocks.end());
    }
    EXPECT_EQ(exchanged, updated);
  }
}

/// What a node's workers would have to tell each other behind every merge is refused by name.
TEST_F(ReplicaPlans, RefuseWeightsThatMoveInsideANode) {
  network_ = plan::make_network(graph::load_model("lenet", {1, 28, 28}, 10));
  exchange_.inner = "layerpipe";
  const auto cost = cost::make_analytic_cost(network_);
  machine_ = {.nodes = 2, .workers_per_node = 2};
  PlanRequest request{
      .network = network_, .machine = machine_, .cost = cost.get(), .batch = 64, .microbatches = 4};
  request.exchange = exchange_;
  try {
    make_plan("daso", request);
    FAIL() << "layerpipe sends no weights here any more: take another network";
  } catch (const UserError& error) {
    EXPECT_THAT(error.what(), HasSubstr("would send each other the weights of conv2"));
  }
}

TEST_F(ReplicaPlans, RefuseWhatCannotBe) {
  for (const std::string strategy : {"daso", "local_sgd", "diloco"}) {
    EXPECT_THAT(refusal(strategy, 1, 4), HasSubstr("between nodes, but there is only one"));
    EXPECT_THAT(refusal(strategy, 13, 5), HasSubstr("use at least 65"));
  }
  exchange_.wait = 4;
  EXPECT_THAT(refusal("daso", 2, 1), HasSubstr("use `exchange_wait` 3, or `exchange_every` 5"));
}

}  // namespace
}  // namespace plait::strategy
