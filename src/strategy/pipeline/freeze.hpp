// From a play to programs: jobs in the order of their start, loads and messages where they belong,
// in an asynchronous plan each in its step of the endless loop.
#pragma once

#include "strategy/pipeline/self_timed.hpp"

namespace plait::strategy::pipeline {

struct FreezeOptions {
  std::string strategy{};
  bool asynchronous = false;
  bool fused = false;  ///< as in JobOptions
};

/// The plan without delays, not yet checked.
plan::Plan freeze(const PlanRequest& request, const JobGraph& graph, const SelfTimed& played,
                  const FreezeOptions& options);

}  // namespace plait::strategy::pipeline
