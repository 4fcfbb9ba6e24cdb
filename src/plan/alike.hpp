// Workers whose programs are the same but for the samples they see and the workers they speak to:
// what is true of one is true of all, and need not be found out a thousand times.
#pragma once

#include <vector>

#include "plan/plan.hpp"

namespace plait::plan {

/// By worker: the first one whose program is equal but for peers and groups, with samples that are
/// as many and lie alike; often itself.
std::vector<int> first_alike(const Plan& plan);

}  // namespace plait::plan
