// serial: everything on one worker, in the plainest order. What every other strategy is held to.
#pragma once

#include "strategy/strategy.hpp"

namespace plait {

/// UserError with more than one worker.
Plan make_serial_plan(const PlanRequest& request);

}  // namespace plait
