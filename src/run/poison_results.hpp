// A mode for tests (tensor/poison.hpp): before a task runs, NaN is written wherever it is to write
// and into its scratch memory. What a task leaves out, or reads of an earlier value, then shows in
// the results.
#pragma once

#include "run/slot_memory.hpp"
#include "run/worker_context.hpp"

namespace plait::run {

class ParameterStore;

void poison_results(const WorkerContext& context, const TaskRun& at, ParameterStore& parameters,
                    SlotMemory& memory);

}  // namespace plait::run
