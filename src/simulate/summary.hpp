// The figures of a simulated run: step time, utilisation, bytes, of the minibatches in its steady
// state.
#pragma once

#include <vector>

#include "simulate/simulate.hpp"

namespace plait::simulate {

/// What a simulated run has counted beside its trace.
struct SimulatedSteps {
  std::int64_t minibatches = 0;
  int depth = 0;                       ///< of the plan
  const std::vector<double>& compute;  ///< by minibatch, of all workers
  const std::vector<double>& ends;     ///< by minibatch: its last update
  std::int64_t messages = 0;           ///< of all minibatches
};

/// Fills in the figures of `result`, whose trace is complete.
void summarise(const SimulatedSteps& steps, Simulation& result);

}  // namespace plait::simulate
