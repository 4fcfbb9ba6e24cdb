// The memory that a worker is said to take: the peak of its map plus what stays.
#include <gtest/gtest.h>

#include "plan/remembering_memory.hpp"

namespace plait::plan {
namespace {

/// Floats that stay: weights and state of blocks the worker reads or updates; gradient and momentum
/// of those it updates.
std::int64_t permanent_floats(const Plan& plan, int worker) {
  const auto has = [&](TaskKind kind, int block) {
    return hand_made::position(plan, worker, kind, block) >= 0;
  };
  std::int64_t floats = 0;
  for (int block = 0; block < plan.network.size(); ++block) {
    const NetworkBlock& of = plan.network.blocks[static_cast<std::size_t>(block)];
    const bool updates = has(TaskKind::update, block);
    const bool collects = worker == 0;
    if (has(TaskKind::forward, block) || has(TaskKind::backward_data, block) || updates ||
        collects) {
      floats += of.parameters + of.state;
    }
    if (updates) floats += of.parameters;
    if (updates || collects) floats += of.parameters;  // momentum
  }
  return floats;
}

TEST(EstimateMemory, IsThePeakPlusWhatStays) {
  for (const auto& [name, plan] : hand_made::all_plans()) {
    for (int worker = 0; worker < plan.workers(); ++worker) {
      const MemoryMap map = map_memory(
          plan, worker, [&](const Value& value) { return hand_made::value_bytes(plan, value); });
      const std::size_t bound =
          lower_bound(map, plan.programs[static_cast<std::size_t>(worker)].tasks.size());
      std::int64_t floats = permanent_floats(plan, worker);
      if (name == "asynchronous_pipeline") {
        floats += 16 * 8;                   // tensor 2 or its gradient, copied to be sent
        if (worker == 0) floats += 2 * 16;  // conv1 stashed
      }
      EXPECT_EQ(estimate_memory(plan, worker), static_cast<std::int64_t>(bound) + 4 * floats)
          << name << " " << worker;
    }
  }
}

TEST(EstimateMemory, CountsWhatOldWeightsTake) {
  // worker 0 wants three versions of conv1's 16 parameters. stash: two more arrays. rebuilt: an
  // average and the next version.
  Plan plan = hand_made::asynchronous_pipeline();
  const std::int64_t stash = estimate_memory(plan, 0);
  plan.old_weights = OldWeights::rebuilt;
  EXPECT_EQ(estimate_memory(plan, 0), stash);
  // a fourth version
  std::get<BackwardData>(hand_made::task(plan, 0, TaskKind::backward_data, 0).what).delay = 3;
  EXPECT_EQ(estimate_memory(plan, 0), stash);
  plan.old_weights = OldWeights::stash;
  EXPECT_EQ(estimate_memory(plan, 0), stash + 4 * 16);
}

TEST(EstimateMemory, OfALenderHasNeitherGradientNorMomentum) {
  // 8 samples: tensor 2, saved and pending of bn, diff 2 and 3; then bn's 8 weights and 8 of state
  EXPECT_EQ(estimate_memory(hand_made::lent_backward(), 1), 5 * 4 * 16 * 8 + 4 * (8 + 8));
}

TEST(EstimateMemory, OfASmallPlanIsWhatTheHandSays) {
  // 8 samples, values rounded up to 64 bytes. The most is alive when backward_data of bn runs:
  // tensors 0..2 (2048 + 1024 + 512), targets 64, saved of conv1 and bn (1024 + 512), diff 2 and 3
  // (512 + 512), pending of bn (512). Then weights, gradients, momentum and bn's state.
  EXPECT_EQ(estimate_memory(hand_made::serial(), 0),
            2048 + 1024 + 512 + 1024 + 512 + 512 + 512 + 512 + 4 * (3 * 64 + 8));
}

}  // namespace
}  // namespace plait::plan
