// From a play to the order of programs: jobs in the order of their start, in an asynchronous plan
// each in its step of the endless loop.
#pragma once

#include "lower/lower.hpp"
#include "strategy/pipeline/self_timed.hpp"

namespace plait::strategy::pipeline {

lower::Order freeze(const lower::Graph& graph, const SelfTimed& played, bool asynchronous);

}  // namespace plait::strategy::pipeline
