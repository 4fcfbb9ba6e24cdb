// A plan as text for people (`plait plan --show`). Not read back by anything.
#pragma once

#include <string>

#include "plan/plan.hpp"

namespace plait::plan {

/// The plan's head, then every program, folded: runs of tasks over consecutive blocks, rounds of
/// microbatches, and workers that differ in their samples only are shown once. Lines are broken at
/// `width`. The plan must have passed the check.
std::string show(const Plan& plan, int width = 100);

}  // namespace plait::plan
