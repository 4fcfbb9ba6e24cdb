// A plan as a document: JSON that holds everything a plan is. What was planned can be kept, looked
// at with any tool, compared, and played elsewhere.
//
// The document begins with "plait_plan": the version of its form, which grows with every change
// that older programs would not understand. It holds the network with all layers, also those that a
// strategy has added; only the matrices of sparse layers stay with the model, named by their
// hashes. Beside the plan it says what follows from it (bytes, memory, staleness, node), which is
// not read.
#pragma once

#include <string>
#include <string_view>

#include "plan/plan.hpp"

namespace plait::plan {

/// Task fields with their usual value are left out.
std::string to_json(const Plan& plan, int indent = -1);

/// plan_from_json(to_json(plan), ...) == plan. `place` (the file's name) opens every message.
/// UserError with the field's name where the document is no JSON, no plan, of another version,
/// damaged, or a plan that does not pass the check (plan/check.hpp); where it is not of `model`;
/// and where it has sparse layers and there is no model.
Plan plan_from_json(std::string_view text, const std::string& place);
Plan plan_from_json(std::string_view text, const std::string& place, const graph::ModelSpec& model);

}  // namespace plait::plan
