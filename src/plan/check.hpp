// The check every plan passes before anything runs.
#pragma once

#include <string>
#include <vector>

#include "plan/plan.hpp"

namespace plait::plan {

/// All faults found, each one line that names worker and task; empty: the plan is sound.
///   - indices in range; tasks of a worker are of blocks, tensors, groups, peers that exist
///   - every value is written before it is read, in the order of the loop
///   - sends match receives; every member of a group starts, sums and finishes its buckets
///   - every block with parameters is updated once per minibatch wherever its gradient is made
///   - forward and backward_data find the version of the weights that their delay names
///   - played without time, the order comes to its end (no deadlock)
///   - the estimated memory fits, where the machine says how much there is
std::vector<std::string> faults(const Plan& plan);

/// Failure with the first fault: a strategy made a wrong plan. UserError where memory does not fit.
void check_plan(const Plan& plan);

}  // namespace plait::plan
