// The flags of plait plan, and the settings they make.
#pragma once

#include <vector>

#include "cli/verb.hpp"
#include "session/config.hpp"

namespace plait::cli {

std::vector<Option> plan_options();

/// The settings that the flags give, checked as in plait train.
session::TrainConfig plan_config(const Arguments& arguments, std::int64_t batch);

}  // namespace plait::cli
