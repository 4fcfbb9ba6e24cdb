// A comparison of plans as text for people and as JSON.
#pragma once

#include <string>

#include "cli/plan_comparison.hpp"

namespace plait::cli {

std::string comparison_text(const Comparison& comparison);
std::string comparison_json(const Comparison& comparison);

}  // namespace plait::cli
