// What a task reads and writes. The one place that knows; check, memory and runtime follow it.
#pragma once

#include <vector>

#include "plan/plan.hpp"

namespace plait::plan {

struct Access {
  Value value;
  bool writes = false;
};

/// Traits of all blocks as they are laid out; empty: those of the network, as operations say.
using Traits = std::vector<graph::BlockTraits>;

/// Nothing is computed in place. `clip` has no accesses of its own: it reads the gradients of all
/// blocks its program updates.
std::vector<Access> accesses(const Plan& plan, const Task& task, const Traits& traits = {});
/// The same into memory that is there already.
void accesses_into(const Plan& plan, const Task& task, const Traits& traits,
                   std::vector<Access>& out);

}  // namespace plait::plan
