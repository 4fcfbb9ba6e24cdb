// A mode for tests: before a task runs, NaN is written wherever it should write. Whatever it leaves
// out, and whatever reads memory of the value that lay there before, then shows in the results.
#include <algorithm>

#include "run/worker.hpp"

namespace plait {

namespace {

bool computes(const Task& task) {
  return is<Forward>(task) || is<Loss>(task) || is<BackwardData>(task) || is<BackwardWeights>(task);
}

}  // namespace

void Worker::poison_results(const Moment& at) {
  const Task& task = task_of(at);
  if (!computes(task) || at.samples == 0) return;
  poison({scratch_, scratch_bytes_});
  const std::vector<Access> list = accesses(plan_, task);
  for (const Access& access : list) {
    const bool also_read = std::ranges::any_of(
        list, [&](const Access& other) { return !other.writes && other.value == access.value; });
    if (!access.writes || also_read) continue;
    if (access.value.role == Role::gradient) {
      Tensor& gradient = parameters_.block(static_cast<std::size_t>(access.value.index)).gradient;
      poison(std::as_writable_bytes(gradient.floats()));
      continue;
    }
    const int slot = map_.find(access.value);
    if (slot < 0 || map_.slots[static_cast<std::size_t>(slot)].bytes == 0) continue;
    free_for_writing(at, slot);
    poison({memory(slot, at.minibatch), map_.slots[static_cast<std::size_t>(slot)].bytes});
  }
}

}  // namespace plait
