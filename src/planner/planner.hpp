// The planner: from settings, a network and a machine to a plan. `plait plan`, `plait train`, tests
// and library users all come through this door, so equal settings make equal plans.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "planner/settings.hpp"
#include "strategy/strategy.hpp"

namespace plait::planner {

/// What a plan is made for and with, beside its settings.
struct Planning {
  const plan::Network& network;
  const plan::Machine& machine;
  const cost::CostModel* cost = nullptr;
  int optimizer_states = 1;  ///< arrays beside the weights
  bool clip = false;         ///< the gradient's norm is limited
  strategy::RowPartitioner partition{};
};

/// The checked plan of checked settings; UserError otherwise. The machine it records is the one it
/// was made for.
plan::Plan plan_with(const PlanSettings& settings, const Planning& planning);

/// The machine with the links that plans assume where nobody has named any.
plan::Machine with_usual_links(const plan::Machine& machine, bool between_given);

/// The strategies that use the setting `key`; none where all do.
std::vector<std::string> users_of(const std::string& key);
/// Whether the strategy, or the one inside its nodes, uses it.
bool uses(const PlanSettings& settings, const std::string& key);
/// UserError where a setting differs from its default and would be ignored.
void check_used_settings(const PlanSettings& settings);
/// Whether the strategy, or the one inside its nodes, splits the depth of the network, which adds
/// coarse parts with weights of their own.
bool splits_depth(const PlanSettings& settings);

/// Which mode of the plan the next epoch of `epochs` takes, `losses` being those of the epochs
/// before it. Null: the plan has one.
using ModeOfEpoch = std::function<int(std::int64_t epochs, const std::vector<double>& losses)>;
ModeOfEpoch modes_of(const PlanSettings& settings);

/// Pieces and replicas that were left open, as numbers that a resumed run keeps whatever its
/// workers. `make` makes the plan of settings.
void settle_pieces(PlanSettings& settings, const plan::Machine& machine,
                   const std::function<plan::Plan(const PlanSettings&)>& make);
/// An outer optimizer's settings that were left open, for a run of so many steps. Returns a line
/// that says so; "" where nothing was chosen.
bool leaves_outer_open(const PlanSettings& settings);
std::string settle_outer(PlanSettings& settings, std::int64_t steps);

}  // namespace plait::planner
