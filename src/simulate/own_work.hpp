// What a worker does one task after the other without asking anybody: most of a large plan.
#pragma once

#include <span>

#include "simulate/compile.hpp"
#include "trace/trace.hpp"

namespace plait::simulate {

/// Plays loads and compute tasks, the first of them being `first` (without its end). Adds their
/// seconds to `compute`, one by one, and returns the end.
double play_own_work(std::span<const CompiledTask> tasks, const trace::Event& first,
                     trace::WorkerTrace& trace, double& compute);

}  // namespace plait::simulate
