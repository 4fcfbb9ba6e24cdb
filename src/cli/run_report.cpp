// Writes report.json and report.html of a run folder, and reads run folders for the page.
#include "cli/run_report.hpp"

#include <algorithm>

#include "base/out_file.hpp"
#include "cli/config_file.hpp"
#include "plan/worker_memory.hpp"
#include "run/cores.hpp"
#include "run/this_machine.hpp"
#include "simulate/simulate.hpp"
#include "transport/mpi.hpp"

namespace plait {

namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kStepsToLookAt = 12;
constexpr double kSecondsBetween = 5;  // two reports of a run under way

RecordParts parts_of(const Plan& plan, const Prediction& prediction) {
  RecordParts parts{.plan = plan, .prediction = prediction};
  parts.machine = {
      .processor = processor_name(), .cores = usable_cores(), .mpi = launched_by_mpi()};
  for (int worker = 0; worker < plan.workers(); ++worker) {
    parts.tasks.push_back(tasks_text(plan, worker));
  }
  return parts;
}

/// Each file whole or as it was before: the run may be killed while it is written.
void write_report(const fs::path& folder, const std::string& record) {
  write_out_file(folder / "report.json", record);
  write_out_file(folder / "report.html", page_html(script_json(page_data({page_run(folder)}))));
}

}  // namespace

Expected expect(const CostModel& cost, const Plan& plan, int threads) {
  Simulation played =
      simulate(plan, cost, {.minibatches = std::max(kStepsToLookAt, steady_minibatches(plan))});
  Expected expected;
  MemoryForecast forecast(plan, {.threads = threads});
  for (int worker = 0; worker < plan.workers(); ++worker) {
    expected.figures.push_back({.busy = played.busy[static_cast<std::size_t>(worker)],
                                .memory = forecast.of(worker).held()});
  }
  expected.prediction = {.source = cost.source(),
                         .step_seconds = played.step_seconds,
                         .utilisation = played.utilisation,
                         .trace = std::move(played.trace)};
  return expected;
}

std::string record_under_way(const Plan& plan, const Prediction& prediction, const Trace* recent) {
  RecordParts parts = parts_of(plan, prediction);
  parts.trace = recent;
  return record_json(parts);
}

nlohmann::ordered_json settings_json(const TrainConfig& config) {
  return {{"model", config.model},         {"data", config.data},
          {"strategy", config.strategy},   {"workers", config.workers},
          {"batch", config.batch},         {"microbatches", config.microbatches},
          {"optimizer", config.optimizer}, {"lr", config.lr}};
}

PageRun page_run(const fs::path& folder) {
  PageRun run{.files = read_run_files(folder)};
  GivenConfig given;
  parse_config(run.files.config, (folder / "config.toml").string(), given);
  run.settings = settings_json(given.config);
  const fs::path clean = folder.lexically_normal();
  run.name = (clean.has_filename() ? clean : clean.parent_path()).string();
  return run;
}

void write_run_report(const TrainResult& result, const std::string& result_json,
                      const Prediction& prediction) {
  if (result.run_dir.empty()) return;
  RecordParts parts = parts_of(result.plan, prediction);
  parts.trace = &result.trace;
  parts.result = result_json;
  write_report(result.run_dir, record_json(parts));
}

void ReportUnderWay::timeline(const TimelineReport& report) {
  if (report.run_dir.empty() || (written_ && written_->seconds() < kSecondsBetween)) return;
  try {
    write_report(report.run_dir, record_under_way(report.plan, prediction_, &report.trace));
  } catch (const std::exception&) {
    // At its end the run says what is wrong with its folder.
  }
  written_ = Stopwatch();
}

}  // namespace plait
