// The settings that say where costs come from: what contradicts, and the rates of counted costs.
#pragma once

#include <optional>

#include "cost/analytic.hpp"
#include "cost/systolic.hpp"
#include "planner/settings.hpp"

namespace plait::planner {

/// UserError on values that their rows do not allow, and on settings that exclude each other.
void check_cost_settings(const CostSettings& settings);
/// Of `cost` systolic:128x128; none for others.
std::optional<cost::SystolicArray> systolic_array(const CostSettings& settings);
/// Whether nothing but a measurement on this machine can tell them.
bool measures_costs(const CostSettings& settings);
/// Of peak_gflops and its neighbours.
cost::AnalyticRates rates_of(const CostSettings& settings);

}  // namespace plait::planner
