// ParameterTransfer: parameters to worker 0 from those who update them, and back to all.
#include "session/parameter_transfer.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "run/worker_testing.hpp"

namespace plait::run {
namespace {

/// Block 0 on worker 0, block 1 on worker 1.
plan::Plan pipeline() {
  plan::Plan plan = small_plan(2);
  for (const int worker : {0, 1}) {
    plan::hand_made::Writer write(plan.programs[static_cast<std::size_t>(worker)]);
    write.forward(worker, worker).task(plan::TaskKind::backward_weights, worker).update(worker);
  }
  return plan;
}

/// Worker r fills all it has with r + 1 before `body`.
void on_both(const plan::Plan& plan,
             const std::function<void(session::ParameterTransfer&, ParameterStore&, int)>& body) {
  transport::ThreadWorld world({.nodes = 1, .members_per_node = 2});
  transport::run_members(world, [&](int rank) {
    WorkerBench bench(world, plan, {.rank = rank, .optimizer = {.momentum = 0.9}});
    const std::unique_ptr<transport::Group> control = world.control_group(rank);
    session::ParameterTransfer transfer(plan, *control);
    for (std::size_t i = 0; i < bench.model.parameters.size(); ++i) {
      BlockMemory& block = bench.model.parameters.block(i);
      for (tensor::Tensor* tensor : {&block.weights, &block.optimizer[0]}) {
        if (!tensor->empty()) std::ranges::fill(tensor->floats(), static_cast<float>(rank + 1));
      }
    }
    body(transfer, bench.model.parameters, rank);
  });
}

TEST(ParameterTransfer, CollectsWhatOthersUpdate) {
  on_both(pipeline(), [](session::ParameterTransfer& transfer, ParameterStore& store, int rank) {
    EXPECT_FALSE(transfer.replicated());
    transfer.collect(store);
    if (rank != 0) return;
    EXPECT_EQ(store.block(0).weights.floats()[0], 1);
    EXPECT_EQ(store.block(1).weights.floats()[0], 2);
    EXPECT_EQ(store.block(1).optimizer[0].floats()[0], 2);
  });
}

TEST(ParameterTransfer, SharesWhatOthersNeed) {
  on_both(pipeline(), [](session::ParameterTransfer& transfer, ParameterStore& store, int rank) {
    transfer.share(store);
    EXPECT_EQ(store.block(1).weights.floats()[0], 1);
    EXPECT_EQ(store.block(1).optimizer[0].floats()[0], 1);
    EXPECT_EQ(store.block(0).weights.empty(), rank == 1);
  });
}

TEST(ParameterTransfer, ReplicatedMeansThatAllHaveAllWithCurrentStatistics) {
  transport::ThreadWorld world({});
  const std::unique_ptr<transport::Group> control = world.control_group(0);
  plan::Plan plan = plan::hand_made::data_parallel();
  EXPECT_TRUE(session::ParameterTransfer(plan, *control).replicated());
  std::get<plan::Forward>(plan::hand_made::task(plan, 1, plan::TaskKind::forward, 0).what)
      .moves_state = false;
  EXPECT_TRUE(session::ParameterTransfer(plan, *control).replicated());  // conv1 has no statistics
  std::get<plan::Forward>(plan::hand_made::task(plan, 1, plan::TaskKind::forward, 2).what)
      .moves_state = false;
  EXPECT_FALSE(session::ParameterTransfer(plan, *control).replicated());
}

}  // namespace
}  // namespace plait::run
