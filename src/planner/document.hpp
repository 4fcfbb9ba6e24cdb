// A plan with the settings it was made with, as one document (plan/json.hpp and "settings"): what
// `plait plan --out` writes, `plait train --plan` plays and every run folder keeps.
#pragma once

#include <string>
#include <string_view>

#include "plan/plan.hpp"
#include "planner/settings.hpp"

namespace plait::planner {

struct PlanDocument {
  plan::Plan plan;
  PlanSettings settings;
};

/// Settings with their default value are left out.
std::string write_plan_document(const PlanDocument& document);

/// UserError that opens with `place` where the text is no such document, is damaged, or is not of
/// the model (null: not compared, and sparse layers are refused).
PlanDocument read_plan_document(std::string_view text, const std::string& place,
                                const graph::ModelSpec* model);

}  // namespace plait::planner
