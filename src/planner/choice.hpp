// The choice of a strategy where the user leaves it to the planner: the fastest plan that trains as
// plain SGD on one worker does.
#pragma once

#include <functional>
#include <string>

#include "planner/advice.hpp"
#include "planner/settings.hpp"

namespace plait::planner {

/// PlanSettings::strategy: the planner's choice.
constexpr const char* kAutoStrategy = "auto";

struct StrategyChoice {
  std::string strategy;
  std::string why;  ///< one line
};

/// `make` makes the plan of settings; where it throws UserError that strategy is left out.
/// UserError where none is possible.
StrategyChoice choose_strategy(const PlanSettings& settings, const cost::CostModel& cost,
                               const std::function<plan::Plan(const PlanSettings&)>& make);

/// The plan, simulated; its speedup is over `serial_seconds` for a step, 1 where they are 0.
Outcome outcome_of(plan::Plan plan, const cost::CostModel& cost, double serial_seconds);

}  // namespace plait::planner
