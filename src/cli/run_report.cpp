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

namespace plait::cli {

namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kStepsToLookAt = 12;
constexpr double kSecondsBetween = 5;  // two reports of a run under way

report::RecordParts parts_of(const plan::Plan& plan, const report::Prediction& prediction) {
  report::RecordParts parts{.plan = plan, .prediction = prediction};
  parts.machine = {.processor = run::processor_name(),
                   .cores = run::usable_cores(),
                   .mpi = transport::launched_by_mpi()};
  parts.tasks = tasks_texts(plan, plan.workers());
  return parts;
}

report::PageRun page_run_of(const fs::path& folder, report::RunFiles files) {
  report::PageRun run{.files = std::move(files)};
  GivenConfig given;
  parse_config(run.files.config, (folder / "config.toml").string(), given);
  run.settings = settings_json(given.config);
  const fs::path clean = folder.lexically_normal();
  run.name = (clean.has_filename() ? clean : clean.parent_path()).string();
  return run;
}

/// Each file whole or as it was before: the run may be killed while it is written.
void write_report(const fs::path& folder, const nlohmann::ordered_json& record) {
  write_out_file(folder / "report.json",
                 record.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
  const report::PageRun run = page_run_of(folder, report::read_run_files(folder, &record));
  write_out_file(folder / "report.html",
                 report::page_html(report::script_json(report::page_data({run}))));
}

}  // namespace

Expected expect(const cost::CostModel& cost, const plan::Plan& plan, int threads) {
  simulate::Simulation played = simulate::simulate(
      plan, cost, {.minibatches = std::max(kStepsToLookAt, simulate::steady_minibatches(plan))});
  Expected expected;
  plan::MemoryForecast forecast(plan, {.threads = threads});
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

nlohmann::ordered_json record_under_way(const plan::Plan& plan,
                                        const report::Prediction& prediction,
                                        const trace::Trace* recent) {
  report::RecordParts parts = parts_of(plan, prediction);
  parts.trace = recent;
  return report::record_json(parts);
}

nlohmann::ordered_json settings_json(const session::TrainConfig& config) {
  return {{"model", config.model},         {"data", config.data},
          {"strategy", config.strategy},   {"workers", config.workers},
          {"batch", config.batch},         {"microbatches", config.microbatches},
          {"optimizer", config.optimizer}, {"lr", config.lr}};
}

report::PageRun page_run(const fs::path& folder) {
  return page_run_of(folder, report::read_run_files(folder));
}

void write_run_report(const session::TrainResult& result, const nlohmann::ordered_json& result_json,
                      const report::Prediction& prediction) {
  if (result.run_dir.empty()) return;
  report::RecordParts parts = parts_of(result.plan, prediction);
  parts.trace = &result.trace;
  parts.result = result_json;
  write_report(result.run_dir, report::record_json(parts));
}

void ReportUnderWay::timeline(const session::TimelineReport& report) {
  if (report.run_dir.empty() || (written_ && written_->seconds() < kSecondsBetween)) return;
  try {
    write_report(report.run_dir, record_under_way(report.plan, prediction_, &report.trace));
  } catch (const std::exception&) {
    // At its end the run says what is wrong with its folder.
  }
  written_ = Stopwatch();
}

}  // namespace plait::cli
