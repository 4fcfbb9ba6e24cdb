// WorkerParts: what runs tasks on the values of minibatches needs, handed on as one. Owns nothing.
#pragma once

#include "run/slot_memory.hpp"
#include "run/worker_context.hpp"
#include "run/worker_model.hpp"

namespace plait::run {

/// All of it outlives whom it is handed to.
struct WorkerParts {
  const WorkerContext& context;
  WorkerModel& model;
  SlotMemory& memory;

  /// -1: the program has no such value.
  int slot(const plan::Value& value) const { return memory.map().find(value); }
};

/// Memory of all values of the worker's program, and of the scratch memory of its blocks.
/// `reads_in_place`: none for tensor 0, which is read where it was loaded.
SlotMemory memory_of(const WorkerContext& context, const WorkerModel& model, bool reads_in_place);

}  // namespace plait::run
