// Allocates the memory of all slots at once, and other memory for slots that are being sent.
#include "run/slot_memory.hpp"

#include <algorithm>

#include "tensor/tensor.hpp"

namespace plait::run {

SlotMemory::SlotMemory(plan::MemoryMap map, std::size_t scratch_bytes)
    : map_(std::move(map)), memory_(tensor::allocate_bytes(map_.bytes + scratch_bytes + 64)) {
  tensor::clear_new({memory_.get(), map_.bytes});
  scratch_ = {memory_.get() + (map_.bytes + 63) / 64 * 64, scratch_bytes};
  std::map<int, int> first;
  for (std::size_t i = 0; i < map_.slots.size(); ++i) {
    if (map_.slots[i].leads) first[map_.slots[i].memory] = static_cast<int>(i);
  }
  for (const plan::Slot& slot : map_.slots) {
    const int own = static_cast<int>(first_.size());
    first_.push_back(slot.memory < 0 ? own : first.at(slot.memory));
    std::vector<std::shared_ptr<std::byte>>& copies = places_.emplace_back();
    for (int copy = 0; copy < slot.copies; ++copy) {
      std::byte* place = memory_.get() + slot.offset + static_cast<std::size_t>(copy) * slot.bytes;
      copies.emplace_back(memory_, place);
    }
  }
}

std::byte* SlotMemory::at(int slot, std::int64_t minibatch) const {
  if (slot < 0) return nullptr;
  const auto index = static_cast<std::size_t>(memory_of(slot));
  return places_[index][static_cast<std::size_t>(minibatch % map_.slots[index].copies)].get();
}

void SlotMemory::sent(int slot, std::int64_t minibatch, transport::Request request) {
  slot = memory_of(slot);
  const plan::Slot& of = map_.slots[static_cast<std::size_t>(slot)];
  sends_[{slot, minibatch % of.copies}].push_back(std::move(request));
}

void SlotMemory::free_for_writing(int slot, std::int64_t minibatch) {
  if (sends_.empty() || slot < 0 || memory_of(slot) != slot) return;
  const plan::Slot& of = map_.slots[static_cast<std::size_t>(slot)];
  const std::int64_t copy = minibatch % of.copies;
  const auto pending = sends_.find({slot, copy});
  if (pending == sends_.end()) return;
  const auto taken = [](const FormerMemory& memory) {
    return std::ranges::all_of(memory.requests, &transport::Request::done);
  };
  auto& place = places_[static_cast<std::size_t>(slot)][static_cast<std::size_t>(copy)];
  FormerMemory former{std::move(place), of.bytes, std::move(pending->second)};
  sends_.erase(pending);
  if (taken(former)) {
    place = std::move(former.bytes);
    return;
  }
  const auto free = std::ranges::find_if(
      former_, [&](const FormerMemory& one) { return one.size == of.bytes && taken(one); });
  if (free == former_.end()) {
    place = tensor::allocate_bytes(of.bytes);
    former_.push_back(std::move(former));
  } else {
    place = std::move(free->bytes);
    *free = std::move(former);
  }
}

}  // namespace plait::run
