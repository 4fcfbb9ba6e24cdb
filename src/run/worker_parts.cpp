// Sizes of values as the blocks of a worker lay them out.
#include "run/worker_parts.hpp"

namespace plait {

SlotMemory memory_of(const WorkerContext& context, const WorkerModel& model, bool reads_in_place) {
  const auto loaded = [&](const Value& value) {
    return value.role == Role::targets ||
           (reads_in_place && value.role == Role::tensor && value.index == 0);
  };
  const auto bytes = [&](const Value& value) {
    return loaded(value) ? 0 : model.chains.bytes_of(value);
  };
  std::vector<int> blocks;
  for (const Task& task : context.program().tasks) {
    if (block_of(task) >= 0) blocks.push_back(block_of(task));
  }
  return {map_memory(context.plan, context.options.rank, bytes, model.chains.backward_reads()),
          model.chains.scratch_bytes(blocks)};
}

}  // namespace plait
