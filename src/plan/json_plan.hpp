// A plan's document as a JSON value: for those who add something of their own to it.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <string_view>

#include "plan/plan.hpp"

namespace plait::plan {

/// Of the document's form.
constexpr int kPlanVersion = 8;

nlohmann::ordered_json plan_json(const Plan& plan);

/// UserError where the text is no JSON.
nlohmann::ordered_json parse_plan_json(std::string_view text, const std::string& place);
/// As plan_from_json; `model` may be null.
Plan read_plan_json(const nlohmann::ordered_json& json, const std::string& place,
                    const graph::ModelSpec* model);

}  // namespace plait::plan
