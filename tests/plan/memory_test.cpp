// The memory map, judged by playing the loop on memory that remembers who wrote it last.
#include "plan/memory.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "graph/zoo.hpp"
#include "plan/hand_made_joins.hpp"
#include "plan/hand_made_rows.hpp"
#include "plan/remembering_memory.hpp"

namespace plait::plan {
namespace {

Plan serial_plan(const std::string& model, int microbatches) {
  Plan plan = hand_made::serial(microbatches);
  plan.network = make_network(graph::make_model(model, {3, 32, 32}, 10));
  plan.batch = 32;
  plan.programs[0].tasks.clear();
  hand_made::Writer write(plan.programs[0]);
  const int last = plan.network.size() - 1;
  for (int part = 0; part < microbatches; ++part) {
    write.with = {.samples = part_of(part, microbatches), .accumulate = part > 0};
    write.task(TaskKind::load).forward(0, last).task(TaskKind::loss);
    write.backward(plan.network, last, 0);
  }
  write.with = {};
  write.update(plan.network, 0, last);
  return plan;
}

TEST(MemoryMap, NoValueIsOverwrittenWhileItIsNeeded) {
  for (const auto& [name, plan] : hand_made::all_plans()) expect_sound(plan, name);
  expect_sound(hand_made::cut_by_rows(), "rows");
  // A sum's two gradients and one of a difference, sent or not.
  EXPECT_EQ(expect_sound(hand_made::joined(), "joined"), 3 * kMinibatches);
  EXPECT_EQ(expect_sound(hand_made::joined_on_two(false), "joined on two"), 3 * kMinibatches);
  expect_sound(hand_made::joined_on_two(true), "joined on two, half");
  expect_sound(hand_made::repeated(), "repeated");
  expect_sound(serial_plan("vgg16", 1), "vgg16");
  EXPECT_GT(expect_sound(serial_plan("resnet20", 3), "resnet20"), 0);
  EXPECT_GT(expect_sound(serial_plan("resnet164", 1), "resnet164"), 0);
}

/// A sum's gradient is that of both its sources, unless somebody reads it after one was added to.
TEST(MemoryMap, AGradientThatIsReadLaterIsNoOtherOne) {
  Plan plan = serial_plan("resnet164", 1);
  std::vector<Task>& tasks = plan.programs[0].tasks;
  std::ranges::stable_partition(
      tasks, [](const Task& task) { return !is<BackwardWeights>(task) && !is<Update>(task); });
  const int at_once = expect_sound(serial_plan("resnet164", 1), "resnet164");
  EXPECT_LT(expect_sound(plan, "weights last"), at_once);
}

/// 3 = 1 + 2 of 1, whose gradient is that of 3 to begin with; then that through 2 is added. But the
/// one of 3 is still being sent.
TEST(MemoryMap, AGradientThatIsSentIsNotAddedTo) {
  const auto linear = [](const std::string& name, int src) {
    return NetworkBlock{
        .name = name,
        .srcs = {src},
        .dst = src + 1,
        .parameters = 256,
        .spec = hand_made::one_layer(name, ops::Linear{.out_features = 16, .bias = false})};
  };
  Plan plan = hand_made::empty_plan("sent", 1);
  plan.network = {.name = "sent", .blocks = {}, .tensors = {16, 16, 16, 16}, .input = {16}};
  plan.network.blocks = {linear("a", 0),
                         linear("b", 1),
                         {.name = "sum",
                          .srcs = {1, 2},
                          .dst = 3,
                          .spec = hand_made::one_layer("sum", ops::Add{}, 2)}};
  complete(plan.network);
  for (const bool sends : {false, true}) {
    plan.programs[0].tasks.clear();
    hand_made::Writer write(plan.programs[0]);
    write.task(TaskKind::load).forward(0, 2).task(TaskKind::loss);
    if (sends) write.message(TaskKind::send, 3, true, 1);
    write.backward(plan.network, 2, 0);
    EXPECT_EQ(expect_sound(plan, sends ? "sent" : "kept"), kMinibatches);
  }
}

TEST(MemoryMap, IsCloseToTheLowerBound) {
  for (const char* model : {"vgg16", "vgg11", "resnet20", "resnet164", "lenet"}) {
    for (int microbatches : {1, 4}) {
      const Plan plan = serial_plan(model, microbatches);
      const MemoryMap map =
          map_memory(plan, 0, [&](const Value& value) { return plan_size(plan, value); });
      const std::size_t bound = lower_bound(map, plan.programs[0].tasks.size());
      EXPECT_GE(map.bytes, bound) << model;
      EXPECT_LE(static_cast<double>(map.bytes), 1.05 * static_cast<double>(bound)) << model;
      RecordProperty(std::string(model) + std::to_string(microbatches),
                     std::to_string(static_cast<double>(map.bytes) / static_cast<double>(bound)));
    }
  }
}

TEST(MemoryMap, SharesBytesInOneStep) {
  const Plan plan = serial_plan("vgg16", 1);
  const MemoryMap map =
      map_memory(plan, 0, [&](const Value& value) { return plan_size(plan, value); });
  std::size_t apart = 0;
  for (const Slot& slot : map.slots) {
    EXPECT_TRUE(slot.shareable);
    EXPECT_EQ(slot.copies, 1);
    apart += slot.bytes;
  }
  EXPECT_LT(map.bytes * 4, apart * 3);
}

int copies(const Plan& plan, int worker, const Value& value) {
  const MemoryMap map =
      map_memory(plan, worker, [&](const Value& of) { return plan_size(plan, of); });
  return map.slots.at(static_cast<std::size_t>(map.find(value))).copies;
}

TEST(MemoryMap, KeepsAsManyCopiesAsMinibatchesAreUnderWay) {
  const Plan plan = hand_made::asynchronous_pipeline();
  // written in step m, read by the backward in step m + 2, further down in the program
  EXPECT_EQ(copies(plan, 0, {.role = Role::tensor, .index = 0}), 3);
  EXPECT_EQ(copies(plan, 0, {.role = Role::saved, .index = 0}), 3);
  // sent in the step it is made (pool's backward does not need its dst)
  EXPECT_EQ(copies(plan, 0, {.role = Role::tensor, .index = 2}), 1);
  // received and used in one step
  EXPECT_EQ(copies(plan, 0, {.role = Role::diff, .index = 2}), 1);
  EXPECT_EQ(copies(plan, 1, {.role = Role::tensor, .index = 3}), 1);
  EXPECT_EQ(copies(plan, 1, {.role = Role::diff, .index = 2}), 1);
}

TEST(MemoryMap, OneCopyLessWhereTheLastUseStandsAboveTheWriter) {
  Plan plan = hand_made::asynchronous_pipeline();
  std::vector<Task>& tasks = plan.programs[0].tasks;
  std::rotate(tasks.begin(), tasks.begin() + hand_made::position(plan, 0, TaskKind::receive),
              tasks.end());
  EXPECT_EQ(copies(plan, 0, {.role = Role::tensor, .index = 0}), 2);
  expect_sound(plan, "rotated");
}

TEST(MemoryMap, WhatIsReceivedLivesFromTheBeginningOfItsStep) {
  // read a step late, above the receive: the next receive is posted before that
  Plan plan = hand_made::empty_plan("late", 2);
  hand_made::Writer write(plan.programs[0]);
  write.with.offset = 1;
  write.forward(2, 2);
  write.with.offset = 0;
  write.message(TaskKind::receive, 2, false, 1);
  EXPECT_EQ(copies(plan, 0, {.role = Role::tensor, .index = 2}), 2);
  expect_sound(plan, "late");
}

TEST(MemoryMap, AReaderUsesTheSmallestValueThatHoldsItsSamples) {
  Plan plan = hand_made::empty_plan("nested", 1);
  plan.programs[0].tasks = {{.what = Load{}},
                            {.what = Load{.samples = part_of(0, 2)}},
                            {.what = Load{.samples = {0, 3, 4}}},
                            {.what = Forward{.block = 0, .samples = part_of(1, 4)}}};
  const MemoryMap map =
      map_memory(plan, 0, [&](const Value& value) { return plan_size(plan, value); });
  for (const Slot& slot : map.slots) {
    if (slot.value.role != Role::tensor || slot.value.index != 0) continue;
    const bool half = slot.value.samples == part_of(0, 2);
    EXPECT_EQ(slot.end, half ? 3 : slot.begin);
  }
  const int found = map.find({Role::tensor, 0, part_of(1, 4)});
  EXPECT_EQ(map.slots.at(static_cast<std::size_t>(found)).value.samples, part_of(0, 2));
}

TEST(MemoryMap, WhatTravelsHasItsOwnPlace) {
  const Plan plan = hand_made::synchronous_pipeline();
  const MemoryMap map =
      map_memory(plan, 0, [&](const Value& value) { return plan_size(plan, value); });
  for (const Slot& slot : map.slots) {
    const bool travels =
        slot.value.index == 2 && (slot.value.role == Role::tensor || slot.value.role == Role::diff);
    EXPECT_EQ(slot.shareable, !travels);
  }
}

TEST(MemoryMap, FindsPartsOfValues) {
  Plan plan = hand_made::serial(2);
  std::vector<Task>& tasks = plan.programs[0].tasks;
  std::erase_if(tasks, [](const Task& task) { return is<Load>(task); });
  tasks.insert(tasks.begin(), {.what = Load{}});
  const MemoryMap map =
      map_memory(plan, 0, [&](const Value& value) { return plan_size(plan, value); });
  const auto found = [&](const Value& value) {
    const int number = map.find(value);
    return number < 0 ? Samples{0, 0, 0}
                      : map.slots[static_cast<std::size_t>(number)].value.samples;
  };
  const Samples whole{};
  EXPECT_EQ(found({Role::tensor, 0, whole}), whole);
  EXPECT_EQ(found({Role::tensor, 0, part_of(1, 2)}), whole);
  EXPECT_EQ(found({Role::tensor, 1, part_of(1, 2)}), part_of(1, 2));
  EXPECT_EQ(found({Role::tensor, 1, part_of(2, 4)}), part_of(1, 2));
  EXPECT_EQ(map.find({Role::tensor, 1, whole}), -1);
  EXPECT_EQ(map.find({Role::tensor, 9, whole}), -1);
  EXPECT_EQ(map.find({Role::partial, 1, whole}), -1);
  expect_sound(plan, "parts");
}

TEST(MemoryMap, ValuesWithoutBytesTakeNone) {
  const Plan plan = hand_made::serial();
  EXPECT_EQ(map_memory(plan, 0, [](const Value&) { return std::size_t{0}; }).bytes, 0U);
}

}  // namespace
}  // namespace plait::plan
