// Straight pipelines: cut at borders of blocks only, with a limit of microbatches in flight.
#pragma once

#include <functional>

#include "strategy/pipeline/candidates.hpp"

namespace plait::strategy::pipeline {

/// From a stage's workers and those behind it, and the number of the stage's own replicas.
using StageLimit = std::function<int(int workers, int replicas)>;

int one_forward_one_backward(int workers, int replicas);

/// The best straight pipeline of this recipe; `open` limits microbatches whose weight gradient is
/// still to come.
ScoredPlan make_straight(const PlanRequest& request, const Recipe& recipe,
                         const StageLimit& in_flight, const StageLimit& open = {});

}  // namespace plait::strategy::pipeline
