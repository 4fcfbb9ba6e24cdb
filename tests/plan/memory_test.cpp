// The memory map, judged by playing the loop on memory that remembers who wrote it last.
#include "plan/memory.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <span>

#include "model/zoo.hpp"
#include "plan/hand_made.hpp"
#include "plan/hand_made_joins.hpp"
#include "plan/hand_made_rows.hpp"

namespace plait::plan {
namespace {

constexpr std::int64_t kMinibatches = 9;

std::size_t plan_size(const Plan& plan, const Value& value) {
  return hand_made::value_bytes(plan, value);
}

/// One worker's memory in cells of 64 bytes; a cell knows whose content it has: every write makes a
/// new one, but that of a gradient which is another one.
class RememberingMemory {
 public:
  RememberingMemory(const Plan& plan, const MemoryMap& map) : plan_(plan), map_(map) {
    cells_.resize(map.bytes / 64);
  }

  /// How many gradients were another one, in its memory.
  int passed() const { return passed_; }

  void play(const Program& program) {
    for (std::int64_t step = 0; step < kMinibatches + plan_.depth(); ++step) {
      // receives are posted at the beginning of their step, into the packed rows where there are
      // any, which the task itself then unpacks
      each(program, step, [&](const Task& task, std::int64_t minibatch) {
        if (is<Receive>(task)) write_all(task, minibatch, packs(task));
      });
      each(program, step, [&](const Task& task, std::int64_t minibatch) {
        const bool unpacks = is<Receive>(task) && packs(task);
        if (unpacks) expect_packed(task, minibatch);
        expect_read(task, minibatch, false);
        if (unpacks || !is<Receive>(task)) write_all(task, minibatch, false);
        expect_read(task, minibatch, true);
        for (const Access& access : accesses(plan_, task)) {
          if (access.writes || is_permanent(access.value.role)) continue;
          if (is<Send>(task) && !packs(task)) sent(map_.find(access.value), minibatch);
        }
        if (is<Send>(task) && packs(task)) sent(packed_slot(task), minibatch);
        // where steps overlap what is sent is copied; else a send may take until the first value in
        // its memory is written again, and nobody else may write there
        if (plan_.depth() > 0) return;
        for (const auto& [number, content] : sent_) {
          EXPECT_TRUE(has_content(number, minibatch, content)) << describe(plan_, task);
        }
      });
    }
  }

 private:
  using Tag = std::int64_t;  ///< the content of a cell

  template <class Body>
  void each(const Program& program, std::int64_t step, const Body& body) {
    for (const Task& task : program.tasks) {
      if (!runs(task.when, step, {.first = 0, .last = kMinibatches})) continue;
      const std::int64_t minibatch = task.when.minibatch_at(step);
      body(task, minibatch);
    }
  }

  std::span<Tag> cells(int number, std::int64_t minibatch) {
    const Slot& slot = map_.slots.at(static_cast<std::size_t>(number));
    const std::size_t copy = static_cast<std::size_t>(minibatch % slot.copies);
    const std::size_t begin = slot.offset + copy * slot.bytes;
    EXPECT_LE(begin + slot.bytes, map_.bytes);
    EXPECT_EQ(begin % 64, 0U);
    return std::span(cells_).subspan(begin / 64, slot.bytes / 64);
  }

  void sent(int number, std::int64_t minibatch) {
    sent_[number] = content_.at({number, minibatch});
  }
  /// Before a slot is written: what is still under way in its memory gets other memory then.
  void leave(int number) {
    const Slot& slot = map_.slots.at(static_cast<std::size_t>(number));
    if (!slot.leads) return;
    std::erase_if(sent_, [&](const auto& one) {
      return map_.slots.at(static_cast<std::size_t>(one.first)).memory == slot.memory;
    });
  }

  int packed_slot(const Task& task) const { return map_.find(packed_value(task).value()); }
  void expect_packed(const Task& task, std::int64_t minibatch) {
    EXPECT_TRUE(holds(packed_slot(task), minibatch))
        << describe(plan_, task) << " of minibatch " << minibatch << ", overwritten";
  }

  const model::BlockTraits& traits(const Task& task) const {
    return plan_.network.blocks.at(static_cast<std::size_t>(block_of(task))).traits;
  }

  /// What the task reads, before it writes and behind it. Only what its block may overwrite is gone
  /// then.
  void expect_read(const Task& task, std::int64_t minibatch, bool behind) {
    for (const Access& access : accesses(plan_, task)) {
      if (access.writes || is_permanent(access.value.role)) continue;
      const bool result =
          is<Forward>(task) && access.value.role == Role::tensor && traits(task).forward_in_place;
      const bool gradient =
          is<BackwardData>(task) && access.value.role == Role::diff && traits(task).diff_in_place;
      if (behind && (result || gradient)) continue;
      EXPECT_TRUE(holds(map_.find(access.value), minibatch))
          << describe(plan_, task) << " reads " << name_of(access.value.role) << " "
          << access.value.index << " of minibatch " << minibatch << ", overwritten";
    }
  }

  /// Whether the gradient is that of the block's result, and lies there.
  bool is_passed(const Task& task, const Value& value, std::int64_t minibatch) {
    const auto* backward = std::get_if<BackwardData>(&task.what);
    if (backward == nullptr || value.role != Role::diff) return false;
    const NetworkBlock& block = plan_.network.blocks[static_cast<std::size_t>(backward->block)];
    const Value from{.role = Role::diff, .index = block.dst, .samples = backward->samples};
    for (std::size_t k = 0; k < block.srcs.size(); ++k) {
      if (block.srcs[k] != value.index || !block.traits.passes(static_cast<int>(k))) continue;
      if (plan_.network.adds_gradient(backward->block, value.index)) continue;
      const int number = map_.find(from);
      if (cells(number, minibatch).data() != cells(map_.find(value), minibatch).data()) continue;
      content_[{map_.find(value), minibatch}] = content_.at({number, minibatch});
      ++passed_;
      return true;
    }
    return false;
  }

  void write_all(const Task& task, std::int64_t minibatch, bool only_packed) {
    for (const Access& access : accesses(plan_, task)) {
      if (!access.writes || is_permanent(access.value.role)) continue;
      if (only_packed && !is_packed(access.value.role)) continue;
      const int number = map_.find(access.value);
      ASSERT_GE(number, 0);
      if (is_passed(task, access.value, minibatch)) continue;
      leave(number);
      content_[{number, minibatch}] = ++writes_;
      std::ranges::fill(cells(number, minibatch), writes_);
    }
  }

  bool has_content(int number, std::int64_t minibatch, std::int64_t content) {
    return std::ranges::all_of(cells(number, minibatch), [&](Tag tag) { return tag == content; });
  }
  bool holds(int number, std::int64_t minibatch) {
    const auto found = content_.find({number, minibatch});
    return found != content_.end() && has_content(number, minibatch, found->second);
  }

  const Plan& plan_;
  const MemoryMap& map_;
  std::vector<Tag> cells_;
  std::map<int, std::int64_t> sent_;                              ///< slot -> content
  std::map<std::pair<int, std::int64_t>, std::int64_t> content_;  ///< by slot and minibatch
  std::int64_t writes_ = 0;
  int passed_ = 0;
};

/// The number of gradients that were another one.
int expect_sound(const Plan& plan, const std::string& name) {
  int passed = 0;
  for (int worker = 0; worker < plan.workers(); ++worker) {
    SCOPED_TRACE(name + ", worker " + std::to_string(worker));
    const MemoryMap map =
        map_memory(plan, worker, [&](const Value& value) { return plan_size(plan, value); });
    RememberingMemory memory(plan, map);
    memory.play(plan.programs[static_cast<std::size_t>(worker)]);
    passed += memory.passed();
  }
  return passed;
}

/// Bytes that must be there at the worst moment, wherever they lie.
std::size_t lower_bound(const MemoryMap& map, std::size_t tasks) {
  std::size_t worst = 0;
  for (int at = 0; at < static_cast<int>(tasks); ++at) {
    std::size_t alive = 0;
    for (const Slot& slot : map.slots) {
      if (!slot.leads) continue;
      if (!slot.shareable) {
        alive += slot.bytes * static_cast<std::size_t>(slot.copies);
      } else if (slot.begin <= at && at <= slot.end) {
        alive += slot.bytes;
      }
    }
    worst = std::max(worst, alive);
  }
  return worst;
}

Plan serial_plan(const std::string& model, int microbatches) {
  Plan plan = hand_made::serial(microbatches);
  plan.network = make_network(model::make_model(model, {3, 32, 32}, 10));
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
