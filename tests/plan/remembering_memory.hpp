// Memory that remembers who wrote it last: plays a worker's program on a memory map and expects
// everything that is read to be there still.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <span>

#include "plan/hand_made.hpp"
#include "plan/memory.hpp"

namespace plait::plan {

inline constexpr std::int64_t kMinibatches = 9;

inline std::size_t plan_size(const Plan& plan, const Value& value) {
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

  const graph::BlockTraits& traits(const Task& task) const {
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
inline int expect_sound(const Plan& plan, const std::string& name) {
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
inline std::size_t lower_bound(const MemoryMap& map, std::size_t tasks) {
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

}  // namespace plait::plan
