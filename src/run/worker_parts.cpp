// Sizes of values as the blocks of a worker lay them out.
#include "run/worker_parts.hpp"

namespace plait::run {

SlotMemory memory_of(const WorkerContext& context, const WorkerModel& model, bool reads_in_place) {
  const auto loaded = [&](const plan::Value& value) {
    return value.role == plan::Role::targets ||
           (reads_in_place && value.role == plan::Role::tensor && value.index == 0);
  };
  const auto bytes = [&](const plan::Value& value) {
    return loaded(value) ? 0 : model.chains.bytes_of(value);
  };
  std::vector<int> blocks;
  for (const plan::Task& task : context.program().tasks) {
    if (plan::block_of(task) >= 0) blocks.push_back(plan::block_of(task));
  }
  return {plan::map_memory(context.plan, context.options.rank, bytes, model.chains.traits()),
          model.chains.scratch_bytes(blocks)};
}

}  // namespace plait::run
