// The memory of what a worker sums with others. Inside this room only.
#pragma once

#include "plan/plan.hpp"

namespace plait::plan {

/// Exchanges of weights and optimizer arrays. What stays: where all were last equal, and what
/// roundings left out. Under way: the values at the start and what travels.
std::int64_t exchanged_bytes(const Plan& plan, int worker);

/// Copies of gradients and running statistics that are being summed.
std::int64_t reduced_bytes(const Plan& plan, int worker);

/// Where steps overlap, what is sent is copied: about one copy of each message is under way.
std::int64_t sent_bytes(const Plan& plan, int worker);

}  // namespace plait::plan
