// Writes NaN to every value that a compute task writes and does not read.
#include "run/poison_results.hpp"

#include <algorithm>

#include "run/parameters.hpp"

namespace plait::run {

namespace {

bool computes(const plan::Task& task) {
  return plan::is<plan::Forward>(task) || plan::is<plan::Loss>(task) ||
         plan::is<plan::BackwardData>(task) || plan::is<plan::BackwardWeights>(task);
}

}  // namespace

void poison_results(const WorkerContext& context, const TaskRun& at, ParameterStore& parameters,
                    SlotMemory& memory) {
  const plan::Task& task = context.task(at);
  if (!computes(task) || at.samples == 0) return;
  tensor::poison(memory.scratch());
  const std::vector<plan::Access> list = plan::accesses(context.plan, task);
  std::vector<const std::byte*> read;  // results may be in the place of these
  for (const plan::Access& access : list) {
    const int slot = access.writes ? -1 : memory.map().find(access.value);
    if (slot >= 0) read.push_back(memory.at(slot, at.minibatch));
  }
  for (const plan::Access& access : list) {
    const bool also_read = std::ranges::any_of(list, [&](const plan::Access& other) {
      return !other.writes && other.value == access.value;
    });
    if (!access.writes || also_read) continue;
    if (access.value.role == plan::Role::gradient) {
      tensor::Tensor& gradient =
          parameters.block(static_cast<std::size_t>(access.value.index)).gradient;
      tensor::poison(std::as_writable_bytes(gradient.floats()));
      continue;
    }
    const int slot = memory.map().find(access.value);
    if (slot < 0) continue;
    const std::size_t bytes = memory.map().slots[static_cast<std::size_t>(slot)].bytes;
    if (bytes == 0) continue;
    memory.free_for_writing(slot, at.minibatch);
    if (std::ranges::find(read, memory.at(slot, at.minibatch)) != read.end()) continue;
    tensor::poison({memory.at(slot, at.minibatch), bytes});
  }
}

}  // namespace plait::run
