// A torn network for people: its pieces, what each costs, what was added, what to expect.
#pragma once

#include <string>

#include "cost/cost_model.hpp"

namespace plait::cli {

/// Whether the plan's strategy has put the network's blocks into pieces.
bool is_torn(const plan::Network& network);

/// `cost` is that of the model.
std::string torn_table(const plan::Plan& plan, const cost::CostModel& cost);

}  // namespace plait::cli
