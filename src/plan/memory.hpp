// The memory of one worker's program: which values live when, and where they can lie. Values of one
// step that are never alive together share bytes.
#pragma once

#include <functional>

#include "plan/accesses.hpp"

namespace plait::plan {

/// A value of a program from its first write to its last use. `copies` minibatches of it are alive
/// at a time; minibatch m lies in copy m % copies.
struct Slot {
  Value value;
  int copies = 1;
  int begin = 0;  ///< position in the program; begin..end are those of a value with one copy
  int end = 0;
  bool shareable = false;  ///< lives inside one step and never travels: may share bytes
  std::size_t bytes = 0;   ///< of one copy
  std::size_t offset = 0;  ///< in the worker's memory; copy k at offset + k * bytes
  int memory = -1;         ///< slots with the same number have the same memory
  bool leads = true;       ///< of those with the same number, one; begin..end are theirs together
};

struct MemoryMap {
  std::vector<Slot> slots;
  std::size_t bytes = 0;

  /// -1 where the program has no such value.
  int find(const Value& value) const;
};

using SizeOf = std::function<std::size_t(const Value&)>;

/// Slots of every value that belongs to minibatches, sized by `size_of` (rounded up to 64 bytes)
/// and placed. Received values are alive from the beginning of their step: receives are posted
/// early.
MemoryMap map_memory(const Plan& plan, int worker, const SizeOf& size_of,
                     const Traits& traits = {});

/// The planner's estimate: map_memory's peak without placing, plus weights, gradients and
/// optimizer.
std::int64_t estimate_memory(const Plan& plan, int worker);

}  // namespace plait::plan
