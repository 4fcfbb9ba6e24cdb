// The settings of a plan's document; the plan itself is written and read by plan/json.
#include "planner/document.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>

#include "base/error.hpp"
#include "plan/json_plan.hpp"

namespace plait::planner {

namespace {

using Json = nlohmann::ordered_json;
constexpr const char* kSettings = "settings";

Json settings_json(const PlanSettings& settings) {
  const PlanSettings usual;
  Json json = Json::object();
  for (const Setting<PlanSettings>& row : plan_settings()) {
    std::visit(
        [&](auto member) {
          if (settings.*member != usual.*member) json[std::string(row.key)] = settings.*member;
        },
        row.member);
  }
  return json;
}

/// The value as what the setting holds; false where it is something else.
bool take(const Json& value, std::string& to) {
  if (value.is_string()) to = value.get<std::string>();
  return value.is_string();
}
bool take(const Json& value, bool& to) {
  if (value.is_boolean()) to = value.get<bool>();
  return value.is_boolean();
}
bool take(const Json& value, std::int64_t& to) {
  if (value.is_number_integer()) to = value.get<std::int64_t>();
  return value.is_number_integer();
}
bool take(const Json& value, std::uint64_t& to) {
  if (value.is_number_unsigned()) to = value.get<std::uint64_t>();
  return value.is_number_unsigned();
}
bool take(const Json& value, double& to) {
  if (value.is_number()) to = value.get<double>();
  return value.is_number();
}

PlanSettings read_settings(const Json& json, const std::string& place) {
  PlanSettings settings;
  if (!json.is_object()) user_error("{}: {} must be an object", place, kSettings);
  for (const auto& [key, value] : json.items()) {
    const auto rows = plan_settings();
    const auto row = std::ranges::find(rows, key, &Setting<PlanSettings>::key);
    if (row == rows.end()) {
      user_error("{}: there is no setting '{}'; plan again with this plait", place,
                 key.substr(0, 60));
    }
    const bool taken = std::visit(
        [&, &value = value](auto member) { return take(value, settings.*member); }, row->member);
    if (!taken) user_error("{}: {}.{} is of the wrong type", place, kSettings, row->key);
  }
  try {
    check_plan_settings(settings);
  } catch (const UserError& error) {
    throw error.in(place);
  }
  return settings;
}

}  // namespace

std::string write_plan_document(const PlanDocument& document) {
  Json json = plan::plan_json(document.plan);
  json[kSettings] = settings_json(document.settings);
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

PlanDocument read_plan_document(std::string_view text, const std::string& place,
                                const graph::ModelSpec* model) {
  const Json json = plan::parse_plan_json(text, place);
  PlanDocument document{.plan = plan::read_plan_json(json, place, model), .settings = {}};
  if (!json.contains(kSettings)) {
    user_error("{}: the plan does not say what it was made with (no '{}'); plan again", place,
               kSettings);
  }
  document.settings = read_settings(json[kSettings], place);
  if (document.settings.strategy != document.plan.strategy ||
      document.settings.batch != document.plan.batch) {
    user_error("{}: the settings are of another plan", place);
  }
  return document;
}

}  // namespace plait::planner
