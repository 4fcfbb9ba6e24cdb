// Versions of weights: every update, and every receive of weights, makes one. Tasks say by `delay`
// which one they read; here is how many of them a worker keeps.
#pragma once

#include <vector>

#include "plan/plan.hpp"

namespace plait::plan {

/// What a task of minibatch m finds newest: the version that the update of minibatch
/// m - 1 - newest_delay has left. `read` and `made` are the tasks, at these places of one program.
int newest_delay(const Task& read, int read_position, const Task& made, int made_position);

/// Per block: how many versions of its weights this worker holds at a time; 0 for blocks whose
/// weights it neither reads nor makes.
std::vector<int> weight_versions(const Plan& plan, int worker);

/// The smallest delays with which the plan's readers find what they ask for, the same for all
/// readers of a block, written into its tasks.
void set_least_delays(Plan& plan);

}  // namespace plait::plan
