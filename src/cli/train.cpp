// plait train: the config from flags and files, the training with its progress, the result.
#include "session/train.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <string_view>

#include "base/error.hpp"
#include "base/text.hpp"
#include "cli/busy_cores.hpp"
#include "cli/config_paths.hpp"
#include "cli/config_plan.hpp"
#include "cli/fields.hpp"
#include "cli/interrupt.hpp"
#include "cli/json.hpp"
#include "cli/live.hpp"
#include "cli/memory_check.hpp"
#include "cli/out_place.hpp"
#include "cli/plan_file.hpp"
#include "cli/progress.hpp"
#include "cli/run_report.hpp"
#include "cli/straggler.hpp"
#include "cli/tell_all.hpp"
#include "cli/terminal.hpp"
#include "cli/thread_warning.hpp"
#include "cli/torn_table.hpp"
#include "cli/verbs.hpp"
#include "cli/weights_file.hpp"
#include "cli/workers_table.hpp"
#include "planner/choice.hpp"
#include "report/perfetto.hpp"
#include "report/schedule_picture.hpp"
#include "run/cores.hpp"
#include "session/agreement.hpp"
#include "session/node_layout.hpp"

namespace plait {

namespace {

/// What config.toml of the run folder says: without the folder's own place, so that it can be
/// replayed.
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

[[noreturn]] void out_of_memory(const TrainConfig& config) {
  if (config.batch == 1) fail("not enough memory for --model {} even with --batch 1", config.model);
  fail(
      "not enough memory for --model {} with --batch {}; try --batch {}, "
      "activations need half as "
      "much",
      config.model, config.batch, config.batch / 2);
}

std::string quoted_for_shell(const std::string& text) {
  constexpr std::string_view plain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNO"
      "PQRSTUVWXYZ0123456789_-./=:+,@%";
  if (!text.empty() && text.find_first_not_of(plain) == std::string::npos) return text;
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

void print_interrupted(const TrainResult& result) {
  if (result.run_dir.empty()) {
    tell("stopped after step {}; nothing was kept (--run-dir none)\n", result.steps);
  } else {
    tell(
        "stopped after step {}; continue with: plait train --resume --run-dir "
        "{}\n",
        result.steps, quoted_for_shell(result.run_dir));
  }
}

void print_workers(const TrainResult& result, const std::vector<WorkerFigures>& predicted) {
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

void print_summary(const TrainResult& result) {
  if (result.new_steps == 0) {
    tell("nothing left to do: {} epoch(s), {} step(s) are done; add --epochs N for more\n",
         result.epochs, result.steps);
  } else {
    tell("done: {} epoch(s), {} step(s) in {:.1f} s, {} images/s, {} of memory\n", result.epochs,
         result.steps, result.seconds,
         with_commas(static_cast<std::int64_t>(result.images_per_second)),
         with_bytes(result.peak_memory_bytes));
  }
  tell("{}train loss {:.4f}, test loss {:.4f}, weights {}\n",
       result.test_accuracy ? fmt::format("accuracy {:.2f}%, ", 100 * *result.test_accuracy) : "",
       result.train_loss, result.test_loss, result.weights_hash);
  if (!result.run_dir.empty()) {
    tell("run folder {0}; report {0}/report.html\nnext: plait eval --run {1}\n", result.run_dir,
         quoted_for_shell(result.run_dir));
  }
}

/// What a run is told beside its settings.
struct Surroundings {
  const InterruptGuard& guard;
  const Machine& machine;
  MpiWorld* mpi = nullptr;
  Live* live = nullptr;  ///< null: nobody looks on
  bool quiet = false;
  bool wants_sync = false;  ///< --pipeline sync was typed
  RunCosts& costs;
  const PlanDocument* given = nullptr;  ///< null: the plan is made
};

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

void write_trace(const TrainResult& result) {
  const auto empty = [](const WorkerTrace& worker) { return worker.events().empty(); };
  if (result.run_dir.empty() || std::ranges::all_of(result.trace.workers, empty)) return;
  const std::filesystem::path file = std::filesystem::path(result.run_dir) / "trace.json";
  write_perfetto(file, result.plan, result.trace);
}

/// The last steps of the run; where steps overlap, as many as a minibatch takes and a few more.
void draw_schedule(const TrainResult& result, const std::string& file) {
  constexpr std::int64_t kSteps = 3;
  std::int64_t last = 0;
  for (const WorkerTrace& worker : result.trace.workers) {
    for (const Event& event : worker.events()) last = std::max(last, event.step);
  }
  const std::int64_t first = last - result.plan.depth() - kSteps + 1;
  PictureOptions window;
  for (const WorkerTrace& worker : result.trace.workers) {
    for (const Event& event : worker.events()) {
      if (event.step < first) continue;
      window.begin = std::min(window.begin.value_or(event.begin), event.begin);
      break;
    }
  }
  write_schedule_picture(file, result.plan, result.trace, window);
  tell("the schedule of the last steps is in {}\n", file);
}

/// What a run leaves beside its result and its weights. Where one of these files cannot be written
/// the training is not lost: it is a warning.
class ExtraFiles {
 public:
  void write(const std::function<void()>& body) {
    try {
      body();
    } catch (const std::bad_alloc&) {
      throw;
    } catch (const std::exception& error) {
      warnings_.push_back(error.what());
    }
  }
  void warn() const {
    for (const std::string& line : warnings_) tell("plait: warning: {}\n", line);
  }

 private:
  std::vector<std::string> warnings_;
};

/// What worker 0 does with the result.
int present(const TrainResult& result, const Expected& expected, const Arguments& arguments,
            const InterruptGuard& guard) {
  const bool measured = result.new_steps > 0;  // else trace and report of the run stay
  const std::optional<Straggler> straggler = straggler_of(result, expected.prediction);
  const std::string json = to_json(result, straggler);
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
    fmt::print("{}\n", json);
  } else if (!result.interrupted) {
    print_summary(result);
  }
  if (result.interrupted) print_interrupted(result);
  files.warn();
  return result.interrupted ? 128 + guard.signal() : 0;
}

/// mpirun -n N is as good as --workers N: a run of other workers goes on with those that are there.
FlagValues flags_of(const Arguments& arguments, const MpiWorld* mpi) {
  FlagValues flags = field_flags(arguments);
  const auto given = [&](const char* key) { return flags.contains(key); };
  if (mpi != nullptr && given("resume") && !given("workers") && !given("nodes") &&
      !given("workers_per_node")) {
    flags["workers"] = std::to_string(mpi->size());
  }
  return flags;
}

/// Each would train alone, and overwrite what the others write.
void check_launcher() {
  const int tasks = unconnected_tasks();
  if (tasks == 0) return;
  const char* number = std::getenv("SLURM_PROCID");
  if (number != nullptr && std::string_view(number) != "0") throw QuietExit{2};
  user_error(
      "srun started {} tasks that know nothing of each other; start them with srun --mpi=pmix "
      "(srun "
      "--mpi=list has the names), or with -n 1; to train {} times alone: srun env -u "
      "SLURM_STEP_NUM_TASKS -u SLURM_STEP_ID plait train ...",
      tasks, tasks);
}

int run_train(const Arguments& arguments, MpiWorld* mpi) {
  check_launcher();
  TrainConfig config = resolve_config(arguments.text("--config", ""), flags_of(arguments, mpi));
  check_config(config);
  if (const std::string* file = arguments.find("--schedule-picture")) {
    check_file_place(*file, "--schedule-picture", ".svg");
    if (config.trace_steps == 0) {
      user_error("--schedule-picture draws the traced steps; omit --trace-steps 0");
    }
  }
  const std::optional<PlanDocument> given = take_given_plan(config);
  check_used_settings(config);
  if (mpi == nullptr) settle_workers(config);
  if (mpi == nullptr) {
    const Machine asked = machine_of(config);
    config.workers = asked.workers();
    config.workers_per_node = asked.workers_per_node;
    // Bits are promised for equal threads: a resumed run takes the number of the first one.
    config.threads = threads_on_one_machine(config);
  } else if (config.workers == 0) {
    config.workers = mpi->size();
  }
  const Machine machine =
      mpi == nullptr ? machine_of(config) : machine_of(config, *mpi->control_group());
  if (mpi != nullptr && machine.nodes == 1 && uses(config, "inner")) {
    const std::string uneven = uneven_nodes(*mpi->control_group());
    if (!uneven.empty()) {
      user_error("--strategy {} exchanges weights between nodes: {}", config.strategy, uneven);
    }
  }
  check_cost_settings(config);
  const RunCostsOptions cost_options{
      .workers = machine.workers(),
      .threads = config.threads > 0 ? static_cast<int>(config.threads)
                                    : std::max(1, usable_cores() / machine.workers_per_node),
      .mpi = mpi,
      .quiet = arguments.on("--quiet")};
  RunCosts costs(config, cost_options);
  if (config.cost == "again") config.cost = "measured";  // a resumed run keeps them
  TrainConfig counted = config;
  counted.cost = config.profile.empty() ? "analytic" : "auto";
  RunCosts counted_costs(counted, cost_options);
  // Under MPI worker 0 measures when all have agreed to begin, which is later.
  if (config.strategy == kAutoStrategy) {
    const std::string why =
        settle_strategy(config, machine, mpi == nullptr ? costs : counted_costs);
    if (!arguments.on("--quiet") && (mpi == nullptr || mpi->rank() == 0)) {
      tell("{}", folded("strategy auto: " + why));
    }
  }
  if (!given) settle_pieces(config, machine, mpi == nullptr ? costs : counted_costs);
  const std::string outer = given ? "" : settle_outer(config);
  if (!outer.empty() && !arguments.on("--quiet") && (mpi == nullptr || mpi->rank() == 0)) {
    tell("{}\n", outer);
  }
  config.lr_scale = fmt::format("{}", lr_scale(config));  // a resumed run keeps it
  const InterruptGuard guard;
  const std::unique_ptr<Live> live =
      mpi == nullptr || mpi->rank() == 0 ? live_of(arguments, config, recipe(config)) : nullptr;
  const Surroundings around{.guard = guard,
                            .machine = machine,
                            .mpi = mpi,
                            .live = live.get(),
                            .quiet = arguments.on("--quiet"),
                            .wants_sync = arguments.text("--pipeline", "") == "sync",
                            .costs = costs,
                            .given = given ? &*given : nullptr};
  Expected expected;
  const TrainResult result = run_training(config, around, expected);
  if (mpi != nullptr && mpi->rank() != 0) return result.interrupted ? 1 : 0;
  const auto show = [&] {
    const int code = present(result, expected, arguments, guard);
    if (live) {
      ExtraFiles page;
      page.write([&] { live->ended(result); });
      page.warn();
    }
    return code;
  };
  if (mpi == nullptr) return show();
  try {
    return show();
  } catch (const std::exception& error) {  // the other processes have nothing to agree on any more
    tell("plait: {}\n", error.what());
    throw QuietExit{dynamic_cast<const UserError*>(&error) != nullptr ? 2 : 1};
  }
}

}  // namespace

Verb train_verb(MpiWorld* mpi) {
  std::vector<Option> options = field_options();
  options.push_back({.name = "--config",
                     .value = "FILE.toml",
                     .help = "settings from a file; flags override it",
                     .group = "Other"});
  options.push_back({.name = "--schedule-picture",
                     .value = "FILE.svg",
                     .help = "draw the last steps of every worker",
                     .group = "Other"});
  for (Option& option : live_options()) options.push_back(std::move(option));
  options.push_back({.name = "--json",
                     .value = "",
                     .help = "one JSON object on stdout at the end",
                     .group = "Other"});
  options.push_back(
      {.name = "--quiet", .value = "", .help = "no progress on stderr", .group = "Other"});
  return {.name = "train",
          .about = "Train a network.",
          .examples = {"plait train --model lenet --data glyphs --epochs 3",
                       "plait train --config runs/001-lenet/config.toml --lr 0.01 --json",
                       "plait train --resume --run-dir runs/001-lenet --epochs 10",
                       "plait train --model vgg16 --data cifar10:DIR --strategy "
                       "data_parallel "
                       "--workers 2",
                       "mpirun -n 4 plait train --model vgg16 --data cifar10:DIR "
                       "--strategy "
                       "data_parallel"},
          .options = std::move(options),
          .run = [mpi](const Arguments& arguments) { return run_train(arguments, mpi); }};
}

}  // namespace plait
