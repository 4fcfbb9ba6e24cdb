// A program as lines, runs of tasks over consecutive blocks folded into one. Inside this room only.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "plan/plan.hpp"

namespace plait::plan {

struct Line {
  std::string what;    ///< "backward_data, backward_weights", "send of tensor 2 to ..."
  std::string when{};  ///< ", offset 2", or nothing
  int first = -1;      ///< block, or -1
  int last = -1;
  int blocks = 0;   ///< from first to last
  int bucket = -1;  ///< or -1
  int last_bucket = -1;
  std::optional<Samples> samples{};
};

/// Whether block `to` comes after `from` on the way up or down; where `skips`, blocks without
/// parameters may be left out.
bool follows(const Network& network, int from, int to, bool skips);

std::vector<Line> fold(const Plan& plan, const std::vector<Task>& tasks);

}  // namespace plait::plan
