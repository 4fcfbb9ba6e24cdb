// Makes the job of a training run and runs it.
#include "cli/train_run.hpp"

#include <algorithm>
#include <new>

#include "base/error.hpp"
#include "cli/busy_cores.hpp"
#include "cli/config_file.hpp"
#include "cli/config_paths.hpp"
#include "cli/progress.hpp"
#include "cli/tell_all.hpp"
#include "cli/terminal.hpp"
#include "cli/thread_warning.hpp"
#include "cli/torn_table.hpp"
#include "cli/weights_file.hpp"
#include "session/agreement.hpp"
#include "simulate/simulate.hpp"
#include "strategy/strategy.hpp"

namespace plait::cli {

namespace {

[[noreturn]] void out_of_memory(const session::TrainConfig& config) {
  if (config.batch == 1) fail("not enough memory for --model {} even with --batch 1", config.model);
  fail(
      "not enough memory for --model {} with --batch {}; try --batch {}, "
      "activations need half as "
      "much",
      config.model, config.batch, config.batch / 2);
}

/// Where a plan of several workers is not expected to be faster than one of them alone. "": it is.
std::string no_gain(const plan::Plan& plan, double step_seconds, const plan::Network& model,
                    const cost::CostModel& cost) {
  if (plan.workers() == 1 || step_seconds <= 0) return "";
  const plan::Machine one{.inside = plan::kUsualInside, .between = plan::kUsualBetween};
  const plan::Plan serial = strategy::make_plan(
      "serial", {.network = model, .machine = one, .cost = &cost, .batch = plan.batch});
  const double alone =
      simulate::simulate(serial, cost, {.minibatches = 1, .keep_events = false}).step_seconds;
  if (step_seconds < alone) return "";
  return fmt::format(
      "note: expected {:.2f} ms a step on {} workers, {:.2f} ms on one of them:\n"
      "      this plan gains nothing; plait plan compares all strategies\n",
      1e3 * step_seconds, plan.workers(), 1e3 * alone);
}

/// Says what is planned before it is played.
class PlannedText : public session::TrainObserver {
 public:
  PlannedText(const session::TrainConfig& config, const Surroundings& around, Expected& expected)
      : config_(config), around_(around), expected_(expected) {}

  void planned(const session::PlanReport& report) override {
    const plan::Plan& plan = report.plan;
    if (around_.wants_sync && std::ranges::max(plan::staleness(plan)) > 0) {
      user_error(
          "--strategy {} is always asynchronous, so --pipeline sync cannot hold; use layerpipe, "
          "1f1b or zb-h1",
          config_.strategy);
    }
    const transport::MpiWorld* mpi = around_.mpi;
    if (mpi != nullptr && mpi->rank() != 0) return;
    const int threads = session::threads_per_worker(config_);
    if (!around_.quiet) {
      warn_of_threads(mpi == nullptr ? plan.machine.workers() : plan.machine.workers_per_node,
                      threads);
    }
    const plan::Network network = plan::make_network(report.model);
    const session::Costs& costs = report.planner.costs(network);
    expected_ = expect(costs.model(), plan, threads);
    expected_.of_this_machine = costs.profile() != nullptr && config_.profile.empty();
    const double step = expected_.prediction.step_seconds;
    if (!around_.quiet && is_torn(plan.network)) tell("{}", torn_table(plan, costs.model()));
    if (!around_.quiet && plan.workers() > 1) {
      tell("{}, planned\ncosts: {}\n{}", plan.strategy, costs.text(),
           workers_table(plan, expected_.figures));
      tell("{}", no_gain(plan, step, network, costs.model()));
    }
    if (around_.live != nullptr) around_.live->plan_made(plan, expected_.prediction);
  }

 private:
  const session::TrainConfig& config_;
  const Surroundings& around_;
  Expected& expected_;
};

}  // namespace

std::string recipe(session::TrainConfig config) {
  config.run_dir.clear();
  config.resume = false;
  std::error_code ignored;
  std::string text = write_config(
      config, has_relative_paths(config) ? std::filesystem::current_path(ignored).string() : "");
  GivenConfig again;
  try {
    parse_config(text, "config.toml", again);  // refused now, not at --resume
  } catch (const UserError& error) {
    user_error("a setting cannot be kept in the run's {}", error.what());
  }
  if (!(again.config == config)) fail("config.toml would not read back as it was written");
  return text;
}

session::TrainResult run_training(const session::SettledRun& run, const Surroundings& around,
                                  Expected& expected) {
  const session::TrainConfig& config = run.config;
  transport::MpiWorld* mpi = around.mpi;
  Progress progress(find_terminal(), around.quiet);
  ReportUnderWay report(expected.prediction);
  std::optional<BusyCores> busy;
  if (mpi == nullptr) {
    busy.emplace(BusyCoresOptions{
        .workers = static_cast<int>(config.workers),
        .threads = static_cast<int>(config.threads),
        .predicted =
            [&] { return expected.of_this_machine ? expected.prediction.step_seconds : 0.0; },
        .say = [&](const std::string& line) { progress.note(line); }});
  }
  PlannedText planned(config, around, expected);
  TellAll observer({&planned, &progress, &report, around.live, busy ? &*busy : nullptr});
  const session::TrainJob job{
      .config = config,
      .config_text = recipe(config),
      .planner = run.planner,
      .observer = observer,
      .interrupt = around.guard.flag(),
      .mpi = mpi,
      .read_weights = [told = around.quiet](const std::string& file,
                                            const graph::ModelSpec& model) mutable {
        WeightsFile read = read_weights(file, model);
        if (!told && !read.note.empty()) tell("{}\n", read.note);
        told = true;  // it is read twice: to be checked, and to be taken
        return std::move(read.tensors);
      }};
  try {
    return session::train(job);
  } catch (const std::bad_alloc&) {
    out_of_memory(config);
  } catch (const Failure&) {
    if (progress.said_fatal()) throw session::QuietExit{1};
    throw;
  }
}

}  // namespace plait::cli
