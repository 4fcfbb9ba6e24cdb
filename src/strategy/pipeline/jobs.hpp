// The jobs of one minibatch under a placement, and what waits for what: everything a schedule needs
// to know.
#pragma once

#include "lower/graph.hpp"
#include "strategy/pipeline/placement.hpp"

namespace plait::strategy::pipeline {

using Job = lower::Item;

struct JobOptions {
  /// backward_weights follows its backward_data at once, and what backward makes leaves the worker
  /// after both: backward as one task.
  bool fused = false;
};

/// Jobs are the items, with times.
lower::Graph make_jobs(const PlanRequest& request, const Placement& placement,
                       const JobOptions& options);

}  // namespace plait::strategy::pipeline
