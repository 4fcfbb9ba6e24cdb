// The line on stderr that says what is being measured for the planner.
#pragma once

#include "session/costs.hpp"

namespace plait::cli {

/// Written over where the terminal can, one line per network elsewhere; nothing where `quiet`.
session::CostProgress measuring_line(bool quiet);

}  // namespace plait::cli
