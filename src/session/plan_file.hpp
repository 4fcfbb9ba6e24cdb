// Files of plans: read for `plait train --plan` and `plait plan --plan`, and the settings of a run
// that follow from one.
#pragma once

#include <optional>
#include <string>

#include "planner/document.hpp"
#include "session/config.hpp"

namespace plait::session {

/// `model` may be null: then the plan is not compared with one.
planner::PlanDocument read_plan_file(const std::string& file, const graph::ModelSpec* model);

/// The plan that the config names, or for a resumed run the one in its folder; nothing where there
/// is none. The config's strategy, machine and settings become the plan's; UserError where the user
/// has set another value.
std::optional<planner::PlanDocument> take_given_plan(TrainConfig& config);

/// UserError where the plan is not for this training: other workers, optimizer or clipping.
void check_given_plan(const planner::PlanDocument& document, const TrainConfig& config,
                      const plan::Machine& machine);

}  // namespace plait::session
