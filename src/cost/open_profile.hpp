// A profile of either kind by its content: JSON is ours, anything else PipeDream's text.
#pragma once

#include <variant>

#include "cost/profile_file.hpp"
#include "cost/published.hpp"

namespace plait::cost {

using ProfileSource = std::variant<ProfileFile, PublishedProfile>;

ProfileSource open_profile(const std::string& path);

}  // namespace plait::cost
