// Reductions and PlanGroups: sums of gradients, means of statistics, exchanges of weights.
#include "run/reductions.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "run/worker_testing.hpp"

namespace plait::run {
namespace {

/// Two workers with one bucket of block 1; each has a half of the samples.
plan::Plan plan_with(const plan::Bucket& bucket) {
  plan::Plan plan = small_plan(2);
  plan.groups = {{0, 1}};
  plan.buckets = {bucket};
  for (plan::Program& program : plan.programs) {
    plan::hand_made::Writer write(program);
    write.forward(0, 1).task(plan::TaskKind::backward_weights, 1);
    for (const plan::Move move : {plan::Move::start, plan::Move::sum, plan::Move::finish})
      write.reduce(move, 0);
    write.update(1);
  }
  return plan;
}

struct Member {
  WorkerBench& bench;
  Reductions& reductions;
  void play(plan::TaskKind kind, std::int64_t step = 0) {
    reductions.reduce(bench.run_of(kind, step), bench.log);
  }
};

/// body(member) on two threads, with all parts built.
void on_both(const plan::Plan& plan, const std::function<void(Member&)>& body) {
  transport::ThreadWorld world({.nodes = 1, .members_per_node = 2});
  transport::run_members(world, [&](int rank) {
    WorkerBench bench(world, plan, {.rank = rank, .seed = 1U + static_cast<unsigned>(rank)});
    PlanGroups groups(plan, *bench.group);
    const plan::Samples share = plan::part_of(rank, 2);
    Reductions reductions(bench.context, bench.model, groups, share);
    EXPECT_EQ(groups.traffic().bytes, 0);
    Member member{bench, reductions};
    body(member);
    EXPECT_GT(groups.traffic().bytes, 0);
    EXPECT_EQ(groups.traffic().bytes, bench.trace.totals().bytes);
  });
}

TEST(Reductions, SumGradients) {
  on_both(plan_with({.payload = plan::Payload::gradient, .blocks = {1}}), [](Member& member) {
    const auto gradient = member.bench.model.parameters.block(1).gradient.floats();
    for (std::int64_t step = 0; step < 3; ++step) {
      std::ranges::fill(gradient, member.bench.context.options.rank == 0 ? 1.0F : 10.0F);
      member.play(plan::TaskKind::reduce_start, step);
      member.play(plan::TaskKind::reduce_sum, step);
      member.play(plan::TaskKind::reduce_finish, step);
      EXPECT_TRUE(std::ranges::all_of(gradient, [](float x) { return x == 11.0F; }));
    }
    EXPECT_EQ(member.reductions.bytes(), 0);
    EXPECT_EQ(member.reductions.times().count, 0);
  });
}

TEST(Reductions, AverageWeightsAsTheyWereAtTheStart) {
  const plan::Plan plan = plan_with({.payload = plan::Payload::weights,
                                     .blocks = {1},
                                     .merge = {.kind = plan::MergeKind::corrected, .steps = 1}});
  on_both(plan, [](Member& member) {
    const auto weights = member.bench.model.parameters.block(1).weights.floats();
    member.reductions.begin_range();
    std::ranges::fill(weights, member.bench.context.options.rank == 0 ? 1.0F : 3.0F);
    member.play(plan::TaskKind::reduce_start);
    for (float& x : weights) x += 0.5F;  // a step while they are under way
    member.play(plan::TaskKind::reduce_sum);
    member.play(plan::TaskKind::reduce_finish);
    EXPECT_TRUE(std::ranges::all_of(weights, [](float x) { return x == 2.5F; }));
    EXPECT_EQ(member.reductions.bytes(), 2 * weights.size_bytes());
    EXPECT_EQ(member.reductions.times().count, 1);
  });
}

TEST(Reductions, WeighStatisticsBySamples) {
  plan::Plan plan = plan_with({.payload = plan::Payload::state, .blocks = {1}});
  plan.network = plan::make_network(graph::make_model("resnet20", {3, 8, 8}, 3));
  ASSERT_EQ(plan.network.blocks[1].name, "stem.bn1");
  on_both(plan, [](Member& member) {
    const auto state = member.bench.model.parameters.block(1).state.floats();
    ASSERT_FALSE(state.empty());
    std::ranges::fill(state, member.bench.context.options.rank == 0 ? 2.0F : 6.0F);
    member.play(plan::TaskKind::reduce_start);
    member.play(plan::TaskKind::reduce_sum);
    member.play(plan::TaskKind::reduce_finish);
    EXPECT_TRUE(std::ranges::all_of(state, [](float x) { return x == 4.0F; }));
  });
}

}  // namespace
}  // namespace plait::run
