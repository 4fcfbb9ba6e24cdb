// How far a worker has come in a simulated run.
#pragma once

#include <string>
#include <vector>

#include "plan/plan.hpp"

namespace plait::simulate {

struct WorkerState {
  double time = 0;
  std::int64_t step = 0;
  int position = 0;
  bool sum_done = false;  ///< the own shard is summed, not yet sent
};

/// Names the workers that have not played all steps, and their tasks.
std::string blocked_text(const plan::Plan& plan, const std::vector<WorkerState>& workers,
                         std::int64_t steps);

}  // namespace plait::simulate
