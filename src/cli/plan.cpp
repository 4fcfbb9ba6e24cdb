// plait plan: every strategy's plan for a network and a machine, played by the simulator, before
// anything runs.
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cstdio>
#include <iterator>

#include "base/error.hpp"
#include "base/memory.hpp"
#include "base/out_file.hpp"
#include "base/text.hpp"
#include "cli/fields.hpp"
#include "cli/flag_text.hpp"
#include "cli/out_place.hpp"
#include "cli/plan_file.hpp"
#include "cli/plan_subject.hpp"
#include "cli/row_partitioner.hpp"
#include "cli/terminal.hpp"
#include "cli/torn_table.hpp"
#include "cli/verbs.hpp"
#include "cli/workers_table.hpp"
#include "plan/json.hpp"
#include "plan/text.hpp"
#include "plan/worker_memory.hpp"
#include "planner/advice.hpp"
#include "planner/choice.hpp"
#include "planner/planner.hpp"
#include "report/perfetto.hpp"
#include "report/schedule_picture.hpp"
#include "run/cores.hpp"
#include "simulate/simulate.hpp"
#include "strategy/strategy.hpp"

namespace plait {

namespace {

constexpr std::size_t kMostReasons = 3;

/// The settings that decide a plan, but for those that `plait plan` has in another form.
std::vector<std::string_view> plan_fields() {
  std::vector<std::string_view> keys{"optimizer", "momentum", "clip_norm"};
  for (const Setting<PlanSettings>& row : plan_settings()) {
    const bool of_costs = row.group == find_field("cost")->group && row.key != "profile";
    if ((row.decides_plan && row.key != "strategy") || of_costs) keys.push_back(row.key);
  }
  return keys;
}

/// As in plait train.
TrainConfig settings_of(const Arguments& arguments, std::int64_t batch) {
  TrainConfig settings;
  settings.batch = batch;
  for (const std::string_view key : plan_fields()) {
    const Field& field = *find_field(key);
    const std::string flag = flag_of(field);
    if (const std::string* value = arguments.find(flag)) {
      set_from_text(settings, field, *value, flag);
    }
  }
  check_config(settings);
  return settings;
}

class Comparison {
 public:
  explicit Comparison(const Arguments& arguments)
      : subject_(plan_subject(arguments)), machines_(plan_machines(arguments)) {
    settings_ = settings_of(arguments, subject_.batch);
    subject_.batch = settings_.batch;
    const std::vector<std::string> names = wanted_strategies(arguments);
    std::ranges::for_each(names, check_strategy);
    settle_costs(subject_, arguments, machines_);
    const Machine one{.inside = kUsualInside, .between = kUsualBetween};
    serial_seconds_ = play(plan_of("serial", one)).simulation.step_seconds;
    named_ = arguments.text("--strategies", "all") != "all";
    for (const std::string& name : names) compare(name, names.size() == 1);
    if (outcomes_.empty() && refused_.size() <= kMostReasons) {
      user_error("no plan is possible; {}", fmt::join(refused_, "; "));
    }
    if (outcomes_.empty()) {  // of all, the first is serial
      user_error("no plan is possible; {}; --strategies NAME says why of {} more", refused_[1],
                 refused_.size() - 1);
    }
  }

  const std::vector<Outcome>& outcomes() const { return outcomes_; }
  const PlanSettings& settings() const { return settings_; }
  /// UserError where none fits into memory.
  const Outcome& best() const {
    for (const Outcome* one : best_first(outcomes_)) {
      if (fits(*one)) return *one;
    }
    user_error("no plan fits into the {} that are free here", with_bytes(free_));
  }
  const CostModel& cost() const { return subject_.costs->model(); }
  Trace trace_of(const Outcome& one) const {
    return simulate(one.plan, cost(), {.minibatches = steady_minibatches(one.plan)}).trace;
  }

  /// One step; where steps overlap, a few, from the filling on.
  Trace short_trace_of(const Outcome& one) const {
    const std::int64_t depth = one.plan.depth();
    return simulate(one.plan, cost(), {.minibatches = depth == 0 ? 1 : depth + 6}).trace;
  }

  std::string json() const {
    nlohmann::ordered_json plans = nlohmann::ordered_json::array();
    for (const Outcome& one : outcomes_) {
      plans.push_back({{"strategy", one.plan.strategy},
                       {"workers", one.plan.workers()},
                       {"nodes", one.plan.machine.nodes},
                       {"step_seconds", one.simulation.step_seconds},
                       {"speedup", one.speedup},
                       {"utilisation", one.simulation.utilisation},
                       {"bubble", 1 - one.simulation.utilisation},
                       {"bytes_per_step", one.simulation.bytes_per_step},
                       {"messages_per_step", one.simulation.messages_per_step},
                       {"peak_memory_bytes", one.peak_memory},
                       {"fits", fits(one)},
                       {"staleness_max", one.staleness}});
    }
    return nlohmann::ordered_json{{"model", subject_.network.name},
                                  {"batch", subject_.batch},
                                  {"microbatches", settings_.microbatches},
                                  {"cost", cost().source()},
                                  {"costs", subject_.costs->text()},
                                  {"simulated", true},
                                  {"refused", refused_},
                                  {"plans", std::move(plans)}}
        .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  }

  std::string text() const {
    std::vector<Row> rows{
        {"strategy", "workers", "step ms", "speed", "busy", "sent/step", "memory", "stale"}};
    const std::vector<const Outcome*> ranked = best_first(outcomes_);
    std::string notes;
    for (const Outcome* each : ranked) {
      const Outcome& one = *each;
      const int nodes = one.plan.machine.nodes;
      rows.push_back({one.plan.strategy,
                      nodes > 1 ? fmt::format("{} x {}", nodes, one.plan.machine.workers_per_node)
                                : fmt::format("{}", one.plan.workers()),
                      fmt::format("{:.2f}", 1e3 * one.simulation.step_seconds),
                      fmt::format("{:.2f}x", one.speedup),
                      fmt::format("{:.0f}%", 100 * one.simulation.utilisation),
                      with_bytes(one.simulation.bytes_per_step),
                      with_bytes(one.peak_memory) + (fits(one) ? "" : "!"),
                      fmt::format("{}", one.staleness)});
      if (one.plan.strategy.find("pipe") != std::string::npos && is_data_parallel(one.plan)) {
        notes += fmt::format(
            "note: {} on {} workers gives every worker the whole network:\n"
            "      this plan is data parallelism\n",
            one.plan.strategy, one.plan.workers());
      }
    }
    std::string text = fmt::format("{}, batch {}; simulated, nothing was run\ncosts: {}\n{}\n{}{}",
                                   subject_.network.name, subject_.batch, subject_.costs->text(),
                                   cores_note(), table(rows, 1), notes);
    std::vector<Outcome> fitting;  // of which one can be recommended
    std::ranges::copy_if(outcomes_, std::back_inserter(fitting),
                         [&](const Outcome& one) { return fits(one); });
    if (fitting.size() < outcomes_.size()) {
      text += fmt::format("! the workers of a node need more than the {} that are free here\n",
                          with_bytes(free_));
    }
    const std::string advice = fitting.empty() ? "" : plan_advice(fitting, cost());
    if (!advice.empty()) {
      text += "\n" + advice + train_note(*best_first(fitting).front());
    }
    if (outcomes_.size() == 1) {
      const Plan& plan = outcomes_.front().plan;
      if (is_torn(plan.network)) text += "\n" + torn_table(plan, cost());
      text += "\n" + workers_text(outcomes_.front());
    }
    if (!refused_.empty()) text += "\n";
    for (const std::string& reason : refused_) text += folded("not possible: " + reason);
    return text;
  }

 private:
  /// Whether a node like this machine has the memory. With --memory-per-worker, plans that need
  /// more are not there.
  bool fits(const Outcome& one) const {
    const Machine& machine = one.plan.machine;
    return free_ == 0 || machine.memory_per_worker > 0 ||
           one.peak_memory <= free_ / machine.workers_per_node;
  }

  /// Where costs are measured here and a node has more workers than this machine can run.
  std::string cores_note() const {
    if (cost().source() != "measured") return "";
    const int threads = subject_.costs->profile()->threads;
    const bool more = std::ranges::any_of(machines_, [&](const Machine& machine) {
      return machine.nodes > 1 || machine.workers_per_node * threads > usable_cores();
    });
    if (!more) return "";
    return fmt::format("       every worker is taken to be as fast as {} thread{} here\n", threads,
                       threads == 1 ? "" : "s");
  }

  /// The threads that were planned with are not always those that plait train takes by itself.
  std::string train_note(const Outcome& best) const {
    if (cost().source() != "measured" || best.plan.machine.nodes > 1) return "";
    return fmt::format("to train so: plait train --strategy {} --workers {} --threads {} ...\n",
                       best.plan.strategy, best.plan.workers(), subject_.costs->profile()->threads);
  }

  std::string workers_text(const Outcome& one) const {
    std::vector<WorkerFigures> figures;
    const std::vector<std::int64_t> memories = estimate_memories(one.plan);
    for (std::size_t worker = 0; worker < memories.size(); ++worker) {
      figures.push_back({.busy = one.simulation.busy[worker], .memory = memories[worker]});
    }
    return workers_table(one.plan, figures);
  }

  /// A strategy that cannot use one of the machines is left out there; one that can use none, or
  /// that was asked for by name, says why. Where nothing else was asked for and it can use none,
  /// that is the end.
  void compare(const std::string& name, bool only) {
    std::string reason;
    bool possible = false;
    for (const Machine& machine : machines_) {
      try {
        outcomes_.push_back(play(plan_of(name, machine)));
        possible = true;
      } catch (const UserError& error) {
        if (reason.empty()) reason = with_flags(error.what());
      }
    }
    if (only && !possible) user_error("{}", reason);
    if (!reason.empty() && (named_ || !possible)) {
      refused_.push_back(fmt::format("{}: {}", name, reason));
    }
  }

  RowPartitioner row_partitioner_of() const {
    RowPartitioner partition = row_partitioner(settings_.partition, settings_.seed);
    return named_ ? partition : in_seconds(std::move(partition), machines_.size());
  }

  Plan plan_of(const std::string& strategy, const Machine& machine) {
    PlanSettings settings = settings_;
    settings.strategy = strategy;
    return subject_.costs->plan([&](const CostModel& cost) {
      return plan_with(settings, {.network = subject_.network,
                                  .machine = machine,
                                  .cost = &cost,
                                  .optimizer_states = optimizer_states(settings_),
                                  .clip = settings_.clip_norm > 0,
                                  .partition = row_partitioner_of()});
    });
  }

  Outcome play(Plan plan) const { return outcome_of(std::move(plan), cost(), serial_seconds_); }

  PlanSubject subject_;
  std::vector<Machine> machines_;
  TrainConfig settings_;
  double serial_seconds_ = 0;
  std::int64_t free_ = available_memory_bytes();
  bool named_ = false;  ///< the strategies were
  std::vector<Outcome> outcomes_;
  std::vector<std::string> refused_;
};

/// The best plan that fits, as a file for plait train --plan.
void keep_plan(const Comparison& comparison, const std::string& file) {
  const Outcome& best = comparison.best();
  PlanSettings settings = comparison.settings();
  settings.strategy = best.plan.strategy;
  write_out_file(file, write_plan_document({.plan = best.plan, .settings = settings}));
  tell("the plan of {} on {} worker(s) is in {}; to train with it: plait train --plan {} ...\n",
       best.plan.strategy, best.plan.workers(), file, file);
}

/// plait plan --plan FILE: nothing is planned.
int show_plan_file(const Arguments& arguments, const std::string& file) {
  constexpr std::array<std::string_view, 6> known{"--plan",    "--model", "--data-shape",
                                                  "--classes", "--show",  "--json"};
  for (const Option& option : plan_verb().options) {
    const bool used = std::ranges::find(known, option.name) != known.end();
    if (used || arguments.find(option.name) == nullptr) continue;
    user_error("{} plans anew; with --plan there are: {}", option.name, fmt::join(known, ", "));
  }
  const Plan plan = plan_in_file(arguments, file);
  if (arguments.on("--json")) {
    fmt::print("{}\n", to_json(plan));
  } else {
    fmt::print("{}\n", show(plan));
  }
  return 0;
}

int run_plan(const Arguments& arguments) {
  if (const std::string* file = arguments.find("--plan")) return show_plan_file(arguments, *file);
  if (const std::string* file = arguments.find("--out")) check_file_place(*file, "--out");
  if (const std::string* file = arguments.find("--trace")) check_file_place(*file, "--trace");
  if (const std::string* file = arguments.find("--schedule-picture")) {
    check_file_place(*file, "--schedule-picture", ".svg");
  }
  const Comparison comparison(arguments);
  const Outcome& last = comparison.outcomes().back();
  if (const std::string* file = arguments.find("--out")) keep_plan(comparison, *file);
  if (const std::string* file = arguments.find("--trace")) {
    write_perfetto(*file, last.plan, comparison.trace_of(last));
    tell("the simulated trace of {} with {} worker(s) is in {}; open it in ui.perfetto.dev\n",
         last.plan.strategy, last.plan.workers(), *file);
  }
  if (const std::string* file = arguments.find("--schedule-picture")) {
    write_schedule_picture(*file, last.plan, comparison.short_trace_of(last));
    tell("the simulated schedule of {} with {} worker(s) is in {}\n", last.plan.strategy,
         last.plan.workers(), *file);
  }
  if (arguments.on("--json")) {
    fmt::print("{}\n", arguments.on("--show") ? to_json(last.plan) : comparison.json());
  } else if (arguments.on("--show")) {
    for (const Outcome& one : comparison.outcomes()) fmt::print("{}\n", show(one.plan));
  } else {
    fmt::print("{}", comparison.text());
  }
  return 0;
}

}  // namespace

Verb plan_verb() {
  Verb verb{
      .name = "plan",
      .about = "Compare strategies on a machine before anything runs.",
      .examples =
          {"plait plan --model vgg16 --batch 128 --workers 1,2,4,8",
           "plait plan --model resnet1001 --nodes 8 --workers-per-node 4 --out plan.json",
           "plait plan --profile vgg16.json --workers 4 --microbatches 8 --strategies layerpipe "
           "--schedule-picture vgg16.svg"},
      .options = {{.name = "--model",
                   .value = "NAME|FILE.toml",
                   .help = "network; plait models lists them"},
                  {.name = "--data-shape",
                   .value = "CxHxW",
                   .help = "of one sample; left away: what the network is usually fed"},
                  {.name = "--classes", .value = "N", .help = "outputs", .standard = "10"},
                  {.name = "--profile",
                   .value = "FILE",
                   .help = "costs from plait profile --out, or PipeDream's profiles",
                   .group = "Costs for the planner"},
                  {.name = "--threads",
                   .value = "N",
                   .help = "per worker, where costs are measured; 0: cores / most workers of a "
                           "node",
                   .standard = "0",
                   .group = "Costs for the planner"},
                  {.name = "--strategies",
                   .value = "LIST",
                   .help = fmt::format("all, or names with commas, of {}",
                                       fmt::join(strategy_names(), ", ")),
                   .standard = "all"},
                  {.name = "--workers",
                   .value = "LIST",
                   .help = "numbers of workers to compare",
                   .standard = "1,2,4,8",
                   .group = "Machine"},
                  {.name = "--nodes",
                   .value = "N",
                   .help = "that share the workers",
                   .standard = "1",
                   .group = "Machine"},
                  {.name = "--workers-per-node",
                   .value = "N",
                   .help = "instead of --workers",
                   .group = "Machine"},
                  {.name = "--link-between-nodes",
                   .value = "RATE[,LATENCY]",
                   .help = "of each node",
                   .standard = to_text(kUsualBetween),
                   .group = "Machine"},
                  {.name = "--link-inside-node",
                   .value = "RATE[,LATENCY]",
                   .help = "between two workers",
                   .standard = to_text(kUsualInside),
                   .group = "Machine"},
                  {.name = "--out",
                   .value = "FILE",
                   .help = "the best plan as a file for plait train --plan"},
                  {.name = "--plan",
                   .value = "FILE",
                   .help = "show the plan of such a file; nothing is planned"},
                  {.name = "--show", .value = "", .help = "the plans themselves"},
                  {.name = "--trace",
                   .value = "FILE",
                   .help = "the last plan's simulated timeline, for ui.perfetto.dev"},
                  {.name = "--schedule-picture",
                   .value = "FILE.svg",
                   .help = "the last plan's simulated schedule, drawn"},
                  {.name = "--json", .value = "", .help = "one JSON object on stdout"}},
      .run = run_plan};
  for (Option& option : field_options(plan_fields())) {
    if (option.name == "--cost") {
      option.help =
          "measured (on this machine, once: kept in the cache), again (now), or analytic "
          "(counted, for another machine)";
      option.standard = "measured";
    }
    verb.options.push_back(std::move(option));
  }
  return verb;
}

}  // namespace plait
