// Tags of the messages of a plan: every channel between two workers has its own, and both compute
// the same.
#pragma once

#include "plan/plan.hpp"

namespace plait::run {

/// Two exchanges of one bucket may be under way. Tags of messages begin above those of buckets.
constexpr int kTagsPerBucket = 2;

/// One per task of the worker's program, counted from 0 for each pair (from, to); 0 where the task
/// is no message.
std::vector<int> message_tags(const plan::Plan& plan, int worker);

}  // namespace plait::run
