// A plan as JSON, complete, for scripts and for the report. Not read back by plait.
#pragma once

#include <string>

#include "plan/plan.hpp"

namespace plait {

/// One object: strategy, network, machine, batch, groups, buckets, staleness per block, and per
/// worker its tasks and estimated memory. Task fields with their default value are left out.
std::string to_json(const Plan& plan, int indent = -1);

}  // namespace plait
