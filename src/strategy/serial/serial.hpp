// serial: everything on one worker, in the plainest order. What every other strategy is held to.
#pragma once

#include "strategy/strategy.hpp"

namespace plait::strategy {

/// UserError with more than one worker.
plan::Plan make_serial_plan(const PlanRequest& request);

}  // namespace plait::strategy
