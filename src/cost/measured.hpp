// Measured cost: the seconds of a ProfileFile at any number of samples.
#pragma once

#include "cost/cost_model.hpp"
#include "cost/profile_file.hpp"

namespace plait::cost {

/// Per task, between measured batch sizes b: the line through the neighbours. Above the largest, or
/// with one point: proportional to the samples. Below the smallest, b0 with v0: the line through
/// the two smallest, but never below the share v0 n / b0 and never above v0.
/// contention(busy) = 1 + (factor - 1) (busy - 1) / (workers - 1), at most factor.
/// UserError where the profile is of another network; it says what differs.
/// `name`: what its source() is; empty: "profile FILE".
std::unique_ptr<CostModel> make_measured_cost(const ProfileFile& profile,
                                              const plan::Network& network,
                                              const std::string& name = "");

/// Whether the profile has measured this block that a strategy has added, or one of the same kind
/// and size. Joins count as measured where the rate of adding arrays is.
bool knows_added(const ProfileFile& profile, const plan::Network& network, int block);

}  // namespace plait::cost
