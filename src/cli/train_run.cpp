// Makes the job of a training run and runs it.
#include "cli/train_run.hpp"

#include <algorithm>
#include <new>

#include "base/error.hpp"
#include "cli/busy_cores.hpp"
#include "cli/config_file.hpp"
#include "cli/config_paths.hpp"
#include "cli/memory_check.hpp"
#include "cli/progress.hpp"
#include "cli/tell_all.hpp"
#include "cli/terminal.hpp"
#include "cli/thread_warning.hpp"
#include "cli/torn_table.hpp"
#include "cli/weights_file.hpp"
#include "session/agreement.hpp"

namespace plait {

namespace {

[[noreturn]] void out_of_memory(const TrainConfig& config) {
  if (config.batch == 1) fail("not enough memory for --model {} even with --batch 1", config.model);
  fail(
      "not enough memory for --model {} with --batch {}; try --batch {}, "
      "activations need half as "
      "much",
      config.model, config.batch, config.batch / 2);
}

}  // namespace

std::string recipe(TrainConfig config) {
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

TrainResult run_training(const TrainConfig& config, const Surroundings& around,
                         Expected& expected) {
  MpiWorld* mpi = around.mpi;
  Progress progress(find_terminal(), around.quiet);
  ReportUnderWay report(expected.prediction);
  std::optional<BusyCores> busy;
  if (mpi == nullptr) {
    busy.emplace(BusyCoresOptions{.workers = static_cast<int>(config.workers),
                                  .threads = static_cast<int>(config.threads),
                                  .predicted =
                                      [&] {
                                        const bool measured =
                                            expected.prediction.source != "analytic";
                                        return measured ? expected.prediction.step_seconds : 0.0;
                                      },
                                  .say = [&](const std::string& line) { progress.note(line); }});
  }
  TellAll observer({&progress, &report, around.live, busy ? &*busy : nullptr});
  const bool first = mpi == nullptr || mpi->rank() == 0;
  const bool speaks = !around.quiet && first;
  const TrainJob job{
      .config = config,
      .config_text = recipe(config),
      .make_plan =
          [&](const ModelSpec& model, const Machine& machine) {
            Plan plan = around.costs.plan(model, [&] {
              if (around.given == nullptr) return plan_of(config, model, machine, around.costs);
              check_given_plan(*around.given, config, machine);
              return around.given->plan;
            });
            if (around.wants_sync && std::ranges::max(staleness(plan)) > 0) {
              user_error(
                  "--strategy {} is always asynchronous, so --pipeline sync cannot hold; use "
                  "layerpipe, 1f1b or zb-h1",
                  config.strategy);
            }
            check_training_memory(config, plan, mpi != nullptr);
            if (speaks) {
              warn_of_threads(mpi == nullptr ? machine.workers() : machine.workers_per_node,
                              threads_per_worker(config));
            }
            if (!first) return plan;
            const Costs& costs = around.costs.of(make_network(model));
            expected = expect(costs.model(), plan, threads_per_worker(config));
            if (speaks && is_torn(plan.network)) {
              tell("{}", torn_table(plan, costs.model()));
            }
            if (speaks && plan.workers() > 1) {
              tell("{}, planned\ncosts: {}\n{}", plan.strategy, costs.text(),
                   workers_table(plan, expected.figures));
            }
            if (around.live != nullptr) around.live->planned(plan, expected.prediction);
            return plan;
          },
      .observer = observer,
      .interrupt = around.guard.flag(),
      .mpi = mpi,
      .fit = config.fit_coarse ? fitting(config, around.machine, around.costs) : nullptr,
      .mode = modes_of(config),
      .costs_text = [&] { return around.costs.text_to_keep(); },
      .plan_text =
          [&](const Plan& plan) { return write_plan_document({.plan = plan, .settings = config}); },
      .read_weights =
          [told = around.quiet](const std::string& file, const ModelSpec& model) mutable {
            WeightsFile read = read_weights(file, model);
            if (!told && !read.note.empty()) tell("{}\n", read.note);
            told = true;  // it is read twice: to be checked, and to be taken
            return std::move(read.tensors);
          }};
  try {
    return train(job);
  } catch (const std::bad_alloc&) {
    out_of_memory(config);
  } catch (const Failure&) {
    if (progress.said_fatal()) throw QuietExit{1};
    throw;
  }
}

}  // namespace plait
