// Workers whose programs are the same but for the samples they see: what is true of one is true of
// all, and need not be found out a thousand times.
#pragma once

#include <vector>

#include "plan/plan.hpp"

namespace plait::plan {

/// By worker: an earlier one with an equal program, or itself. Programs with messages are not
/// compared: they name other workers.
std::vector<int> first_alike(const Plan& plan);

}  // namespace plait::plan
