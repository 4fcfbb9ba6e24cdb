// The report of runs: what a training leaves for it in the run folder, and the page of any folders.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "cli/workers_table.hpp"
#include "cost/cost_model.hpp"
#include "report/page.hpp"
#include "report/record.hpp"
#include "session/train.hpp"

namespace plait::cli {

/// What the simulator makes of a plan before it runs.
struct Expected {
  std::vector<WorkerFigures> figures{};
  report::Prediction prediction{};
  bool of_this_machine = false;  ///< the costs are measured here
};

/// The plan played on these costs, with a few steps to look at. `threads`: of a worker.
Expected expect(const cost::CostModel& cost, const plan::Plan& plan, int threads);

/// The record of a run under way: everything but its result. `recent`: what its workers did last;
/// null: nothing yet.
nlohmann::ordered_json record_under_way(const plan::Plan& plan,
                                        const report::Prediction& prediction,
                                        const trace::Trace* recent);

/// What the page says of the settings.
nlohmann::ordered_json settings_json(const session::TrainConfig& config);

/// The run as the page shows it.
report::PageRun page_run(const std::filesystem::path& folder);

/// report.json and report.html; nothing where the run has no folder. `result_json`: its result, as
/// `plait train --json` prints it.
void write_run_report(const session::TrainResult& result, const nlohmann::ordered_json& result_json,
                      const report::Prediction& prediction);

/// The same after every epoch, though not every second, so that a run that is killed has them too.
/// Where they cannot be written the run goes on.
class ReportUnderWay : public session::TrainObserver {
 public:
  /// `prediction` outlives it, and is made before the run begins.
  explicit ReportUnderWay(const report::Prediction& prediction) : prediction_(prediction) {}
  void timeline(const session::TimelineReport& report) override;

 private:
  const report::Prediction& prediction_;
  std::optional<Stopwatch> written_;
};

}  // namespace plait::cli
