// The files of a run folder that a report is made of, read and checked.
#pragma once

#include <nlohmann/json.hpp>

#include <filesystem>
#include <string>

namespace plait::report {

struct RunFiles {
  std::string config{};             ///< text of config.toml
  nlohmann::ordered_json epochs{};  ///< the lines of metrics.jsonl; [] where there is none
  nlohmann::ordered_json record{};  ///< report.json; null where there is none
};

/// UserError where the folder is none of a run, and naming file and line of what is damaged. A last
/// line of metrics.jsonl without its end is what a killed run leaves: it is left out.
/// `record`: taken in place of report.json.
RunFiles read_run_files(const std::filesystem::path& folder,
                        const nlohmann::ordered_json* record = nullptr);

}  // namespace plait::report
