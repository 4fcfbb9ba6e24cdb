// The summary, the table of workers, the trace and the picture of the schedule.
#include "cli/train_result.hpp"

#include <algorithm>
#include <cstdio>
#include <new>

#include "base/text.hpp"
#include "cli/json.hpp"
#include "cli/straggler.hpp"
#include "cli/terminal.hpp"
#include "report/perfetto.hpp"
#include "report/schedule_picture.hpp"

namespace plait::cli {

namespace {

std::string quoted_for_shell(const std::string& text) {
  constexpr std::string_view plain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNO"
      "PQRSTUVWXYZ0123456789_-./=:+,@%";
  if (!text.empty() && text.find_first_not_of(plain) == std::string::npos) return text;
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

void print_interrupted(const session::TrainResult& result) {
  if (result.run_dir.empty()) {
    tell("stopped after step {}; nothing was kept (--run-dir none)\n", result.steps);
  } else {
    tell(
        "stopped after step {}; continue with: plait train --resume --run-dir "
        "{}\n",
        result.steps, quoted_for_shell(result.run_dir));
  }
}

void print_workers(const session::TrainResult& result,
                   const std::vector<WorkerFigures>& predicted) {
  if (result.workers < 2) return;
  std::vector<WorkerFigures> measured;
  for (std::size_t i = 0; i < result.shares.size(); ++i) {
    measured.push_back({.busy = result.shares[i].busy, .memory = result.memory[i]});
  }
  tell("{}, measured:\n{}", result.strategy, workers_table(result.plan, predicted, measured));
  if (result.exchanges > 0 && result.exchange_seconds > 0) {
    const auto count = static_cast<double>(result.exchanges);
    tell(
        "{} exchanges of weights, {:.1f} ms under way each, {:.0f}% of that hidden behind "
        "compute\n",
        result.exchanges, 1e3 * result.exchange_seconds / count,
        100 * std::max(0.0, 1 - result.exchange_waited_seconds / result.exchange_seconds));
  }
}

void print_summary(const session::TrainResult& result) {
  if (result.new_steps == 0) {
    tell("nothing left to do: {} epoch(s), {} step(s) are done; add --epochs N for more\n",
         result.epochs, result.steps);
  } else {
    tell("done: {} epoch(s), {} step(s) in {:.1f} s, {} images/s, {} of memory\n", result.epochs,
         result.steps, result.seconds,
         with_commas(static_cast<std::int64_t>(result.images_per_second)),
         with_bytes(result.peak_memory_bytes));
  }
  tell("{}{}train loss {:.4f}, test loss {:.4f}, weights {}\n",
       result.test_accuracy ? fmt::format("accuracy {:.2f}%, ", 100 * *result.test_accuracy) : "",
       result.test_miou ? fmt::format("mIoU {:.2f}%, ", 100 * *result.test_miou) : "",
       result.train_loss, result.test_loss, result.weights_hash);
  if (!result.run_dir.empty()) {
    tell("run folder {0}; report {0}/report.html\nnext: plait eval --run {1}\n", result.run_dir,
         quoted_for_shell(result.run_dir));
  }
}

void write_trace(const session::TrainResult& result) {
  const auto empty = [](const trace::WorkerTrace& worker) { return worker.events().empty(); };
  if (result.run_dir.empty() || std::ranges::all_of(result.trace.workers, empty)) return;
  const std::filesystem::path file = std::filesystem::path(result.run_dir) / "trace.json";
  report::write_perfetto(file, result.plan, result.trace);
}

/// The last steps of the run; where steps overlap, as many as a minibatch takes and a few more.
void draw_schedule(const session::TrainResult& result, const std::string& file) {
  constexpr std::int64_t kSteps = 3;
  std::int64_t last = 0;
  for (const trace::WorkerTrace& worker : result.trace.workers) {
    for (const trace::Event& event : worker.events()) last = std::max(last, event.step);
  }
  const std::int64_t first = last - result.plan.depth() - kSteps + 1;
  report::PictureOptions window;
  for (const trace::WorkerTrace& worker : result.trace.workers) {
    for (const trace::Event& event : worker.events()) {
      if (event.step < first) continue;
      window.begin = std::min(window.begin.value_or(event.begin), event.begin);
      break;
    }
  }
  report::write_schedule_picture(file, result.plan, result.trace, window);
  tell("the schedule of the last steps is in {}\n", file);
}

}  // namespace

void ExtraFiles::write(const std::function<void()>& body) {
  try {
    body();
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    warnings_.push_back(error.what());
  }
}

void ExtraFiles::warn() const {
  for (const std::string& line : warnings_) tell("plait: warning: {}\n", line);
}

int present(const session::TrainResult& result, const Expected& expected,
            const Arguments& arguments, const InterruptGuard& guard) {
  const bool measured = result.new_steps > 0;  // else trace and report of the run stay
  const std::optional<report::Straggler> straggler = straggler_of(result, expected.prediction);
  const nlohmann::ordered_json json = to_json(result, straggler);
  ExtraFiles files;
  if (measured) {
    files.write([&] { write_trace(result); });
    files.write([&] { write_run_report(result, json, expected.prediction); });
    const std::string* picture = arguments.find("--schedule-picture");
    if (picture != nullptr) files.write([&] { draw_schedule(result, *picture); });
  }
  if (!arguments.on("--quiet") && !result.interrupted && measured) {
    print_workers(result, expected.figures);
    if (straggler) tell("{}\n", straggler_text(*straggler));
  }
  if (arguments.on("--json")) {
    fmt::print("{}\n", json_text(json));
  } else if (!result.interrupted) {
    print_summary(result);
  }
  if (result.interrupted) print_interrupted(result);
  files.warn();
  return result.interrupted ? 128 + guard.signal() : 0;
}

}  // namespace plait::cli
