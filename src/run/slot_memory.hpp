// SlotMemory: the memory of the values of a program, as its MemoryMap places them. What is sent is
// not copied: while others still read a copy of a slot, the slot gets other memory.
#pragma once

#include <deque>
#include <map>
#include <memory>

#include "plan/memory.hpp"
#include "tensor/poison.hpp"
#include "transport/request.hpp"

namespace plait::run {

class SlotMemory {
 public:
  SlotMemory(plan::MemoryMap map, std::size_t scratch_bytes);

  const plan::MemoryMap& map() const { return map_; }
  /// Slots with the same memory have the same number: that of the first one written. -1 for slot
  /// -1.
  int memory_of(int slot) const { return slot < 0 ? -1 : first_[static_cast<std::size_t>(slot)]; }
  /// Null for slot -1.
  std::byte* at(int slot, std::int64_t minibatch) const;
  float* floats(int slot, std::int64_t minibatch) const {
    return reinterpret_cast<float*>(at(slot, minibatch));
  }
  /// Of the task that runs; 64-byte aligned.
  std::span<std::byte> scratch() const { return scratch_; }
  /// Values and scratch memory; not what is allocated while messages are under way.
  std::size_t bytes() const { return map_.bytes + scratch_.size(); }
  /// For tests (poisons_memory): tasks find NaN where they are to write.
  bool poisons() const { return poisons_; }

  /// `request` sends from the slot's memory of this minibatch.
  void sent(int slot, std::int64_t minibatch, transport::Request request);
  /// Before a task writes: memory that no message reads. A worker that is ahead never waits for one
  /// that takes its messages later, so the slot gets other memory where a message is still under
  /// way. A slot in the memory of another one stays there.
  void free_for_writing(int slot, std::int64_t minibatch);

 private:
  struct FormerMemory {
    std::shared_ptr<std::byte> bytes;
    std::size_t size = 0;
    std::vector<transport::Request> requests{};
  };
  using SlotCopy = std::pair<int, std::int64_t>;

  plan::MemoryMap map_;
  std::shared_ptr<std::byte> memory_;
  std::vector<int> first_;  ///< by slot: the one whose memory it has
  std::vector<std::vector<std::shared_ptr<std::byte>>> places_;  ///< by slot and copy
  std::span<std::byte> scratch_;
  bool poisons_ = tensor::poisons_memory();
  std::map<SlotCopy, std::vector<transport::Request>> sends_;
  std::deque<FormerMemory> former_;  ///< of slots, with the messages that still read it
};

}  // namespace plait::run
