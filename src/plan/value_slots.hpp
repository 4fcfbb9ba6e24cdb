// The slots of a worker's values before they are placed, and the most bytes of them that are alive
// at one time. Inside this room only.
#pragma once

#include "plan/memory.hpp"

namespace plait::plan {

/// In the order of their first use.
std::vector<Slot> value_slots(const Plan& plan, int worker, const SizeOf& size_of,
                              const Traits& traits);

/// What has its own place, plus the most bytes of the others that are alive at one time; of a
/// program of so many tasks.
std::size_t peak_bytes(const std::vector<Slot>& slots, std::size_t positions);

}  // namespace plait::plan
