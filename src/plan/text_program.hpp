// One program as text: the folded lines (text_lines.hpp), and rounds of lines that come again for
// the next microbatch, blocks or bucket shown once. Inside this room only.
#pragma once

#include <string>
#include <vector>

#include "plan/plan.hpp"

namespace plait::plan {

/// "conv1", "conv1 .. fc (18 blocks)", "conv1 .. conv3 (3 blocks), fc".
std::string block_list(const Network& network, const std::vector<int>& blocks);

/// The part of the minibatch a whole program works on.
Samples envelope(const std::vector<Task>& tasks);

/// The tasks with their samples seen from `whole`, so that workers that do the same on different
/// samples compare equal, and with the size of the group instead of its number.
std::vector<Task> relative_to(const Samples& whole, const Plan& plan, std::vector<Task> tasks);

/// Of relative tasks.
std::vector<std::string> program_text(const Plan& plan, const std::vector<Task>& tasks);

}  // namespace plait::plan
