// The report page: one HTML file with its style, its scripts and its data inside.
#pragma once

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

#include "report/run_files.hpp"

namespace plait::report {

struct PageRun {
  std::string name{};                 ///< for legends
  nlohmann::ordered_json settings{};  ///< {model, data, strategy, workers, batch, epochs, ...}
  RunFiles files{};
};

/// {runs: [{name, settings, config, epochs, record}, ...]}.
nlohmann::ordered_json page_data(const std::vector<PageRun>& runs);

/// JSON that may stand inside a <script> element: no text in it can end that.
std::string script_json(const nlohmann::ordered_json& data);

/// `data` as script_json writes it. `live`: the page asks its server for news.
std::string page_html(const std::string& data, bool live = false);

}  // namespace plait::report
