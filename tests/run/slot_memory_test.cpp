// SlotMemory: one place per slot and copy, and other memory while a message is under way.
#include "run/slot_memory.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "run/poison_results.hpp"
#include "run/worker_testing.hpp"

namespace plait::run {
namespace {

/// Slot 0 with two copies of 128 bytes, slot 1 with one of 64.
plan::MemoryMap two_slots() {
  return {.slots = {{.value = {plan::Role::tensor, 1}, .copies = 2, .bytes = 128, .offset = 0},
                    {.value = {plan::Role::tensor, 2}, .copies = 1, .bytes = 64, .offset = 256}},
          .bytes = 320};
}

class Sending : public testing::Test {
 protected:
  /// Sends what lies in slot 0 for this minibatch; the other member has not asked for it.
  void send(std::int64_t minibatch) {
    memory_.sent(0, minibatch, sender_->isend({memory_.at(0, minibatch), 128}, 1, 0));
  }
  void take() { receiver_->irecv(taken_, 0, 0).wait(); }

  transport::ThreadWorld world_{{.nodes = 1, .members_per_node = 2}};
  std::unique_ptr<transport::Group> sender_ = world_.group(0);
  std::unique_ptr<transport::Group> receiver_ = world_.group(1);
  SlotMemory memory_{two_slots(), 100};
  std::array<std::byte, 128> taken_{};
};

TEST(SlotMemory, HasAPlaceForEveryCopy) {
  const SlotMemory memory(two_slots(), 100);
  EXPECT_EQ(memory.at(0, 5), memory.at(0, 7));
  EXPECT_EQ(memory.at(0, 1), memory.at(0, 0) + 128);
  EXPECT_EQ(memory.at(1, 0), memory.at(0, 0) + 256);
  EXPECT_EQ(memory.at(1, 3), memory.at(1, 0));
  EXPECT_EQ(memory.at(-1, 0), nullptr);
  EXPECT_EQ(memory.scratch().size(), 100);
  EXPECT_GE(memory.scratch().data(), memory.at(0, 0) + 320);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory.scratch().data()) % 64, 0);
  EXPECT_EQ(memory.bytes(), 420);
}

/// Slot 1 has the memory of slot 0, which is written first.
plan::MemoryMap one_memory() {
  return {.slots = {{.value = {plan::Role::diff, 1}, .bytes = 128, .memory = 7},
                    {.value = {plan::Role::diff, 2}, .bytes = 128, .memory = 7, .leads = false}},
          .bytes = 128};
}

TEST_F(Sending, SlotsWithOneMemoryStayTogether) {
  memory_ = SlotMemory(one_memory(), 0);
  std::byte* const first = memory_.at(0, 0);
  EXPECT_EQ(memory_.at(1, 0), first);
  EXPECT_EQ(memory_.memory_of(1), 0);
  memory_.sent(1, 0, sender_->isend({memory_.at(1, 0), 128}, 1, 0));
  memory_.free_for_writing(1, 0);  // what is there stays: it is the value of slot 0
  EXPECT_EQ(memory_.at(1, 0), first);
  memory_.free_for_writing(0, 0);
  EXPECT_NE(memory_.at(0, 0), first);
  EXPECT_EQ(memory_.at(1, 0), memory_.at(0, 0));
  take();
}

TEST_F(Sending, GivesTheSlotOtherMemoryUntilTheMessageIsTaken) {
  std::byte* const first = memory_.at(0, 0);
  std::byte* const second = memory_.at(0, 1);
  first[0] = std::byte{42};
  send(0);
  memory_.free_for_writing(0, 1);  // another copy
  memory_.free_for_writing(1, 0);  // another slot
  EXPECT_EQ(memory_.at(0, 0), first);
  memory_.free_for_writing(0, 0);
  EXPECT_NE(memory_.at(0, 0), first);
  EXPECT_EQ(memory_.at(0, 1), second);
  memory_.at(0, 0)[0] = std::byte{7};
  take();
  EXPECT_EQ(taken_[0], std::byte{42});
}

TEST_F(Sending, KeepsTheMemoryWhoseMessageWasTaken) {
  std::byte* const first = memory_.at(0, 0);
  send(0);
  take();
  memory_.free_for_writing(0, 0);
  EXPECT_EQ(memory_.at(0, 0), first);
}

TEST_F(Sending, TakesMemoryBackInsteadOfAllocatingMore) {
  std::set<std::byte*> places;
  for (int i = 0; i < 10; ++i) {
    places.insert(memory_.at(0, 0));
    send(0);
    memory_.free_for_writing(0, 0);
    take();
  }
  EXPECT_EQ(places.size(), 2);
}

TEST(PoisonResults, WritesNaNWhereATaskWritesAndNowhereElse) {
  plan::Plan plan = small_plan(1);
  plan::hand_made::Writer(plan.programs[0]).forward(0, 0).task(plan::TaskKind::backward_weights, 0);
  transport::ThreadWorld world({});
  WorkerBench bench(world, plan, {});
  const auto tensor = [&](int index) {
    return bench.memory.floats(bench.parts().slot({plan::Role::tensor, index}), 0);
  };
  BlockMemory& block = bench.model.parameters.block(0);
  block.gradient.floats()[0] = 1;
  tensor(0)[0] = tensor(1)[0] = 1;
  const auto poison_task = [&](plan::TaskKind kind) {
    poison_results(bench.context, bench.run_of(kind), bench.model.parameters, bench.memory);
  };
  poison_task(plan::TaskKind::forward);
  EXPECT_EQ(tensor(0)[0], 1);
  EXPECT_TRUE(std::isnan(tensor(1)[0]));
  EXPECT_EQ(block.gradient.floats()[0], 1);
  poison_task(plan::TaskKind::backward_weights);
  EXPECT_TRUE(std::isnan(block.gradient.floats()[0]));
  EXPECT_TRUE(std::isfinite(block.weights.floats()[0]));
}

}  // namespace
}  // namespace plait::run
