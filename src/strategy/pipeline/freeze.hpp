// From a play to programs: jobs in the order of their start, in an asynchronous plan each in its
// step of the endless loop.
#pragma once

#include "strategy/pipeline/self_timed.hpp"

namespace plait::strategy::pipeline {

struct FreezeOptions {
  std::string strategy{};
  bool asynchronous = false;
};

/// The plan without delays, not yet checked.
plan::Plan freeze(lower::Graph graph, const SelfTimed& played, const FreezeOptions& options);

}  // namespace plait::strategy::pipeline
