// Validation of a report.json, which may have been edited, before the page draws it.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <string>

namespace plait::report {

constexpr int kRecordFormat = 1;

/// UserError that begins with `file`, says what is wrong and what to do.
void check_record(const nlohmann::ordered_json& record, const std::string& file);

}  // namespace plait::report
