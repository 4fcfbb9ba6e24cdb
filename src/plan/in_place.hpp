// Which values of a program may lie in the memory of another one: results that take the place of
// what they are made of, and gradients of sums, which are that of the result. Inside this room
// only.
#pragma once

#include "plan/values.hpp"

namespace plait::plan {

struct InPlaceValue {
  bool in_step = false;  ///< lives inside one step
  bool travels = false;  ///< sent or received: its memory is not overwritten
  bool sent = false;     ///< somebody may read it until the end of the step
  std::size_t bytes = 0;
};

/// Per number of `table`: the one whose memory it takes, itself where it has its own. `values` are
/// by number.
std::vector<int> share_in_place(const Plan& plan, int worker, const Traits& traits,
                                ValueTable& table, const std::vector<InPlaceValue>& values);

}  // namespace plait::plan
