// plait plan: every strategy's plan for a network and a machine, played by the simulator, before
// anything runs.
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>
#include <iterator>

#include "base/error.hpp"
#include "base/memory.hpp"
#include "base/text.hpp"
#include "cli/out_place.hpp"
#include "cli/plan_advice.hpp"
#include "cli/plan_subject.hpp"
#include "cli/row_partitioner.hpp"
#include "cli/terminal.hpp"
#include "cli/torn_table.hpp"
#include "cli/verbs.hpp"
#include "cli/workers_table.hpp"
#include "plan/json.hpp"
#include "plan/text.hpp"
#include "plan/worker_memory.hpp"
#include "report/perfetto.hpp"
#include "report/schedule_picture.hpp"
#include "run/cores.hpp"
#include "simulate/simulate.hpp"
#include "strategy/strategy.hpp"

namespace plait {

namespace {

constexpr std::size_t kMostReasons = 3;

const std::vector<std::string_view> kExchangeFields{
    "exchange_every", "exchange_wait", "exchange_most", "merge",
    "exchange_wire",  "local_steps",   "inner"};

ExchangeRequest exchange_of(const Arguments& arguments) {
  const ExchangeRequest usual;
  const auto steps = [&](const char* flag, int standard) {
    return static_cast<int>(arguments.integer(flag, standard, {1, 1 << 16}));
  };
  return exchange_request({.every = steps("--exchange-every", usual.every),
                           .wait = steps("--exchange-wait", usual.wait),
                           .most = steps("--exchange-most", usual.most),
                           .local_steps = steps("--local-steps", usual.local_steps),
                           .inner = arguments.text("--inner", usual.inner)},
                          arguments.text("--merge", "corrected"),
                          arguments.text("--exchange-wire", "fp32"));
}

class Comparison {
 public:
  explicit Comparison(const Arguments& arguments)
      : subject_(plan_subject(arguments)), machines_(plan_machines(arguments)) {
    microbatches_ = static_cast<int>(arguments.integer("--microbatches", 1, {1, 1 << 20}));
    wire_bytes_ = wire_bytes_of(arguments.text("--wire", "fp32"));
    const std::int64_t replicas = arguments.integer("--replicas", 0, {0, 1 << 20});
    pipeline_ =
        pipeline_request(arguments.text("--pipeline", "sync"), arguments.text("--weights", "stash"),
                         arguments.integer("--in-flight", 0, {0, 1 << 20}), replicas != 1);
    pipeline_.max_staleness = staleness_limit(arguments.text("--max-staleness", "auto"));
    tear_ = tear_request(
        arguments.text("--pieces", "0"), replicas, arguments.integer("--sweeps", 1, {1, 1 << 20}),
        arguments.text("--coarse", "block"), arguments.text("--residual-wire", "fp32"));
    exchange_ = exchange_of(arguments);
    partition_ = arguments.text("--partition", "merged");
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
                                  {"microbatches", microbatches_},
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
        if (reason.empty()) reason = error.what();
      }
    }
    if (only && !possible) user_error("{}", reason);
    if (!reason.empty() && (named_ || !possible)) {
      refused_.push_back(fmt::format("{}: {}", name, reason));
    }
  }

  RowPartitioner row_partitioner_of() const {
    RowPartitioner partition = row_partitioner(partition_, 1);
    return named_ ? partition : in_seconds(std::move(partition), machines_.size());
  }

  Plan plan_of(const std::string& strategy, const Machine& machine) {
    return subject_.costs->plan([&](const CostModel& cost) {
      return make_plan(strategy, {.network = subject_.network,
                                  .machine = machine,
                                  .cost = &cost,
                                  .batch = subject_.batch,
                                  .microbatches = microbatches_,
                                  .wire_bytes = wire_bytes_,
                                  .pipeline = pipeline_,
                                  .tear = tear_,
                                  .exchange = exchange_,
                                  .partition = row_partitioner_of()});
    });
  }

  Outcome play(Plan plan) const {
    Outcome outcome{.plan = std::move(plan), .simulation = {}};
    outcome.simulation =
        simulate(outcome.plan, cost(),
                 {.minibatches = steady_minibatches(outcome.plan), .keep_events = false});
    outcome.peak_memory = std::ranges::max(estimate_memories(outcome.plan));
    outcome.staleness = std::ranges::max(staleness(outcome.plan));
    if (serial_seconds_ > 0) {
      outcome.speedup = serial_seconds_ / outcome.simulation.step_seconds;
    }
    return outcome;
  }

  PlanSubject subject_;
  std::vector<Machine> machines_;
  int microbatches_ = 1;
  int wire_bytes_ = 4;
  PipelineRequest pipeline_{};
  TearRequest tear_{};
  ExchangeRequest exchange_{};
  std::string partition_;
  double serial_seconds_ = 0;
  std::int64_t free_ = available_memory_bytes();
  bool named_ = false;  ///< the strategies were
  std::vector<Outcome> outcomes_;
  std::vector<std::string> refused_;
};

int run_plan(const Arguments& arguments) {
  if (const std::string* file = arguments.find("--trace")) check_file_place(*file, "--trace");
  if (const std::string* file = arguments.find("--schedule-picture")) {
    check_file_place(*file, "--schedule-picture", ".svg");
  }
  const Comparison comparison(arguments);
  const Outcome& last = comparison.outcomes().back();
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
           "plait plan --model resnet1001 --nodes 8 --workers-per-node 4 --json",
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
                  {.name = "--batch", .value = "N", .help = "samples per update", .standard = "64"},
                  {.name = "--microbatches", .value = "N", .help = "per update", .standard = "1"},
                  {.name = "--strategies",
                   .value = "LIST",
                   .help = fmt::format("all, or names with commas, of {}",
                                       fmt::join(strategy_names(), ", ")),
                   .standard = "all"},
                  {.name = "--partition",
                   .value = "HOW",
                   .help = "sparse_rows: FILE of plait partition, or merged, zoltan, block, random",
                   .standard = "merged"},
                  {.name = "--pipeline",
                   .value = "MODE",
                   .help = "layerpipe: sync, or async (weights some updates old)",
                   .standard = "sync",
                   .group = "Pipelines"},
                  {.name = "--weights",
                   .value = "HOW",
                   .help = "weights of async pipelines: stash, rebuilt, predicted or ring",
                   .standard = "stash",
                   .group = "Pipelines"},
                  {.name = "--max-staleness",
                   .value = "N|auto",
                   .help = "async: most updates that weights are old; auto: PipeDream's, "
                           "workers - 1",
                   .standard = "auto",
                   .group = "Pipelines"},
                  {.name = "--in-flight",
                   .value = "N",
                   .help = "layerpipe: most microbatches begun and not ended on a worker; 0: the "
                           "planner's choice",
                   .standard = "0",
                   .group = "Pipelines"},
                  {.name = "--replicas",
                   .value = "N",
                   .help = "layerpipe: 1: one worker for every piece, 0: the planner's choice; "
                           "parareal: workers of each piece",
                   .standard = "0",
                   .group = "Pipelines"},
                  {.name = "--pieces",
                   .value = "N|auto",
                   .help = "that the depth is torn into; 0: one per worker",
                   .standard = "0",
                   .group = "Parareal"},
                  {.name = "--sweeps",
                   .value = "N",
                   .help = "over the torn network",
                   .standard = "1",
                   .group = "Parareal"},
                  {.name = "--coarse",
                   .value = "KIND",
                   .help = "stand-ins for the pieces: block, conv or identity",
                   .standard = "block",
                   .group = "Parareal"},
                  {.name = "--residual-wire",
                   .value = "TYPE",
                   .help = "numbers that cross interfaces: fp32 or bf16",
                   .standard = "fp32",
                   .group = "Parareal"},
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
                  {.name = "--memory-per-worker",
                   .value = "MiB",
                   .help = "plans that need more are refused; 0: not checked",
                   .standard = "0",
                   .group = "Machine"},
                  {.name = "--wire",
                   .value = "TYPE",
                   .help = "numbers of reduced gradients: fp32 or bf16",
                   .standard = "fp32",
                   .group = "Machine"},
                  {.name = "--show", .value = "", .help = "the plans themselves"},
                  {.name = "--trace",
                   .value = "FILE",
                   .help = "the last plan's simulated timeline, for ui.perfetto.dev"},
                  {.name = "--schedule-picture",
                   .value = "FILE.svg",
                   .help = "the last plan's simulated schedule, drawn"},
                  {.name = "--json", .value = "", .help = "one JSON object on stdout"}},
      .run = run_plan};
  const std::vector<Option> exchange = field_options(kExchangeFields);
  verb.options.insert(verb.options.end(), exchange.begin(), exchange.end());
  for (Option& option : field_options(kCostFields)) {
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
