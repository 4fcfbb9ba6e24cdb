// The report of runs: what a training leaves for it in the run folder, and the page of any folders.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "cli/workers_table.hpp"
#include "report/page.hpp"
#include "report/record.hpp"
#include "run/train.hpp"

namespace plait {

/// What the simulator makes of a plan before it runs.
struct Expected {
  std::vector<WorkerFigures> figures{};
  Prediction prediction{};
};

/// The plan played on the config's costs, with a few steps to look at. `network` is the model's.
Expected expect(const TrainConfig& config, const Network& network, const Plan& plan);

/// The record of a run under way: everything but its result.
std::string record_of_plan(const Plan& plan, const Prediction& prediction, bool mpi);

/// What the page says of the settings.
nlohmann::ordered_json settings_json(const TrainConfig& config);

/// The run as the page shows it.
PageRun page_run(const std::filesystem::path& folder);

/// report.json and report.html; nothing where the run has no folder. `result_json`: its result, as
/// `plait train --json` prints it.
void write_run_report(const TrainResult& result, const std::string& result_json,
                      const Prediction& prediction, bool mpi);

}  // namespace plait
