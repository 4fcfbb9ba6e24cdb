// What a task reads and writes. The one place that knows; check, memory and runtime follow it.
#pragma once

#include <vector>

#include "plan/plan.hpp"

namespace plait::plan {

struct Access {
  Value value;
  bool writes = false;
};

/// What backward of a block reads beside the gradient: the planner's guess, or the layers' truth.
struct BackwardReads {
  bool src = true;
  bool dst = false;
};

/// `reads` has one entry per block; empty: the guess for all. Nothing is computed in place. `clip`
/// has no accesses of its own: it reads the gradients of all blocks its program updates.
std::vector<Access> accesses(const Plan& plan, const Task& task,
                             const std::vector<BackwardReads>& reads = {});
/// The same into memory that is there already.
void accesses_into(const Plan& plan, const Task& task, const std::vector<BackwardReads>& reads,
                   std::vector<Access>& out);

}  // namespace plait::plan
