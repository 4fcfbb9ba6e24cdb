// plait plan: every strategy's plan for a network and a machine, played by the simulator, before
// anything runs.
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>

#include "base/error.hpp"
#include "base/nearest.hpp"
#include "cli/numbers.hpp"
#include "cli/partition_file.hpp"
#include "cli/terminal.hpp"
#include "cli/text.hpp"
#include "cli/verbs.hpp"
#include "cli/workers_table.hpp"
#include "cost/analytic.hpp"
#include "cost/measured.hpp"
#include "cost/open_profile.hpp"
#include "model/model_file.hpp"
#include "plan/json.hpp"
#include "plan/memory.hpp"
#include "plan/text.hpp"
#include "report/perfetto.hpp"
#include "report/schedule_picture.hpp"
#include "simulate/simulate.hpp"
#include "strategy/strategy.hpp"

namespace plait {

namespace {

constexpr std::int64_t kMaxWorkers = 1 << 20;

/// The network, what its tasks cost, and where that is known from.
struct Subject {
  Network network;
  std::unique_ptr<CostModel> cost;
  std::int64_t batch = 64;
};

Network network_of(const Arguments& arguments, const std::string& model) {
  const auto classes = static_cast<int>(arguments.integer("--classes", 10, {1, 1 << 24}));
  const std::string* shape = arguments.find("--data-shape");
  return make_network(
      load_model(model, shape != nullptr ? parse_shape(*shape) : usual_input(model), classes));
}

Subject subject_of(const Arguments& arguments) {
  const std::string* model = arguments.find("--model");
  const std::string path = arguments.text("--profile", "");
  Subject subject;
  if (path.empty()) {
    if (model == nullptr) user_error("plan needs a network; add --model NAME or --profile FILE");
    subject.network = network_of(arguments, *model);
    subject.cost = make_analytic_cost(subject.network);
  } else {
    ProfileSource source = open_profile(path);
    if (auto* ours = std::get_if<ProfileFile>(&source)) {
      subject.batch = ours->points.front().batch;
      if (model == nullptr && arguments.find("--data-shape") == nullptr &&
          !ours->data_shape.empty()) {
        subject.network = make_network(
            load_model(ours->model, parse_shape(ours->data_shape), std::max(1, ours->classes)));
      } else {
        subject.network = network_of(arguments, model != nullptr ? *model : ours->model);
      }
      subject.cost = make_measured_cost(*ours, subject.network);
    } else {
      auto& published = std::get<PublishedProfile>(source);
      if (model != nullptr) {
        user_error("--profile {} is a published profile with its own network; leave --model away",
                   path);
      }
      subject.network = published.network;
      subject.batch = published.batch;
      subject.cost = make_published_cost(published);
    }
  }
  subject.batch = arguments.integer("--batch", subject.batch, {1, 1 << 24});
  return subject;
}

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == ',') {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

/// One machine per number of --workers.
std::vector<Machine> machines_of(const Arguments& arguments) {
  Machine machine{.inside = kUsualInside, .between = kUsualBetween};
  if (const std::string* link = arguments.find("--link-inside-node")) {
    machine.inside = parse_link(*link, "--link-inside-node");
  }
  if (const std::string* link = arguments.find("--link-between-nodes")) {
    machine.between = parse_link(*link, "--link-between-nodes");
  }
  machine.memory_per_worker =
      arguments.integer("--memory-per-worker", 0, {0, std::int64_t{1} << 40}) << 20;
  machine.nodes = static_cast<int>(arguments.integer("--nodes", 1, {1, kMaxWorkers}));
  const std::string* per_node = arguments.find("--workers-per-node");
  const std::string* workers = arguments.find("--workers");
  std::vector<Machine> machines;
  if (per_node != nullptr) {
    if (workers != nullptr) {
      user_error("--workers and --workers-per-node exclude each other; {} nodes x {} are {}",
                 machine.nodes, *per_node,
                 machine.nodes * parse_integer(*per_node, "--workers-per-node"));
    }
    machine.workers_per_node =
        static_cast<int>(arguments.integer("--workers-per-node", 1, {1, kMaxWorkers}));
    machines.push_back(machine);
  } else {
    for (const std::string& part : split(workers != nullptr ? *workers : "1,2,4,8")) {
      const std::int64_t count = parse_integer(part, "--workers", {1, kMaxWorkers});
      if (count % machine.nodes != 0) {
        if (workers == nullptr) continue;
        user_error("--workers {} cannot be shared evenly by --nodes {}; try {}", count,
                   machine.nodes, std::max<std::int64_t>(1, count / machine.nodes) * machine.nodes);
      }
      machine.workers_per_node = static_cast<int>(count / machine.nodes);
      machines.push_back(machine);
    }
    if (machines.empty()) machines.push_back(machine);  // more nodes than the usual workers
  }
  for (const Machine& one : machines) check_machine(one);
  return machines;
}

int wire_bytes_of(const std::string& type) {
  if (type == "fp32") return 4;
  if (type == "bf16") return 2;
  user_error("--wire {} is not known{}; there are: fp32, bf16", type,
             did_you_mean(type, {"fp32", "bf16"}));
}

std::vector<std::string> wanted_strategies(const Arguments& arguments) {
  const std::string text = arguments.text("--strategies", "all");
  return text == "all" ? strategy_names() : split(text);
}

/// One line of the answer.
struct Outcome {
  Plan plan;
  Simulation simulation;
  std::int64_t peak_memory = 0;
  int staleness = 0;
  double speedup = 1;
};

class Comparison {
 public:
  explicit Comparison(const Arguments& arguments)
      : subject_(subject_of(arguments)), machines_(machines_of(arguments)) {
    microbatches_ = static_cast<int>(arguments.integer("--microbatches", 1, {1, 1 << 20}));
    wire_bytes_ = wire_bytes_of(arguments.text("--wire", "fp32"));
    pipeline_ = pipeline_request(
        arguments.text("--pipeline", "sync"), arguments.text("--weights", "stash"),
        arguments.integer("--in-flight", 0, {0, 1 << 20}), !arguments.on("--no-replicas"));
    partition_ = arguments.text("--partition", "merged");
    const Machine one{.inside = kUsualInside, .between = kUsualBetween};
    serial_seconds_ = play(plan_of("serial", one)).simulation.step_seconds;
    const std::vector<std::string> names = wanted_strategies(arguments);
    std::ranges::for_each(names, check_strategy);
    for (const std::string& name : names) compare(name, names.size() == 1);
    if (outcomes_.empty()) user_error("no plan is possible; {}", fmt::join(refused_, "; "));
  }

  const std::vector<Outcome>& outcomes() const { return outcomes_; }
  Trace trace_of(const Outcome& one) const {
    return simulate(one.plan, *subject_.cost, {.minibatches = steady_minibatches(one.plan)}).trace;
  }

  /// One step; where steps overlap, a few, from the filling on.
  Trace short_trace_of(const Outcome& one) const {
    const std::int64_t depth = one.plan.depth();
    return simulate(one.plan, *subject_.cost, {.minibatches = depth == 0 ? 1 : depth + 6}).trace;
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
                       {"staleness_max", one.staleness}});
    }
    return nlohmann::ordered_json{{"model", subject_.network.name},
                                  {"batch", subject_.batch},
                                  {"microbatches", microbatches_},
                                  {"cost", subject_.cost->source()},
                                  {"simulated", true},
                                  {"refused", refused_},
                                  {"plans", std::move(plans)}}
        .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  }

  std::string text() const {
    std::vector<Row> rows{{"strategy", "workers", "step ms", "speedup", "busy", "bubble",
                           "sent per step", "memory each", "staleness"}};
    for (const Outcome& one : outcomes_) {
      const int nodes = one.plan.machine.nodes;
      rows.push_back({one.plan.strategy,
                      nodes > 1 ? fmt::format("{} x {}", nodes, one.plan.machine.workers_per_node)
                                : fmt::format("{}", one.plan.workers()),
                      fmt::format("{:.2f}", 1e3 * one.simulation.step_seconds),
                      fmt::format("{:.2f}x", one.speedup),
                      fmt::format("{:.0f}%", 100 * one.simulation.utilisation),
                      fmt::format("{:.0f}%", 100 * (1 - one.simulation.utilisation)),
                      with_bytes(one.simulation.bytes_per_step), with_bytes(one.peak_memory),
                      fmt::format("{}", one.staleness)});
    }
    std::string text =
        fmt::format("{}, batch {}, costs: {}; simulated, nothing was run\n\n{}",
                    subject_.network.name, subject_.batch, subject_.cost->source(), table(rows, 1));
    if (outcomes_.size() == 1) text += "\n" + workers_text(outcomes_.front());
    for (const std::string& reason : refused_) text += fmt::format("\nnot possible: {}", reason);
    return text + (refused_.empty() ? "" : "\n");
  }

 private:
  std::string workers_text(const Outcome& one) const {
    std::vector<WorkerFigures> figures;
    for (int worker = 0; worker < one.plan.workers(); ++worker) {
      figures.push_back({.busy = one.simulation.busy[static_cast<std::size_t>(worker)],
                         .memory = estimate_memory(one.plan, worker)});
    }
    return workers_table(one.plan, figures);
  }

  /// A strategy that cannot use one of the machines is left out there; one that can use none says
  /// why, and where nothing else was asked for, that is the end.
  void compare(const std::string& name, bool only) {
    std::string reason;
    bool possible = false;
    for (const Machine& machine : machines_) {
      try {
        outcomes_.push_back(play(plan_of(name, machine)));
        possible = true;
      } catch (const UserError& error) {
        if (only) throw;
        if (reason.empty()) reason = error.what();
      }
    }
    if (!possible) refused_.push_back(fmt::format("{}: {}", name, reason));
  }

  Plan plan_of(const std::string& strategy, const Machine& machine) const {
    return make_plan(strategy, {.network = subject_.network,
                                .machine = machine,
                                .cost = subject_.cost.get(),
                                .batch = subject_.batch,
                                .microbatches = microbatches_,
                                .wire_bytes = wire_bytes_,
                                .pipeline = pipeline_,
                                .partition = row_partitioner(partition_, 1)});
  }

  Outcome play(Plan plan) const {
    Outcome outcome{.plan = std::move(plan), .simulation = {}};
    outcome.simulation =
        simulate(outcome.plan, *subject_.cost,
                 {.minibatches = steady_minibatches(outcome.plan), .keep_events = false});
    for (int worker = 0; worker < outcome.plan.workers(); ++worker) {
      outcome.peak_memory = std::max(outcome.peak_memory, estimate_memory(outcome.plan, worker));
    }
    outcome.staleness = std::ranges::max(staleness(outcome.plan));
    if (serial_seconds_ > 0) {
      outcome.speedup = serial_seconds_ / outcome.simulation.step_seconds;
    }
    return outcome;
  }

  Subject subject_;
  std::vector<Machine> machines_;
  int microbatches_ = 1;
  int wire_bytes_ = 4;
  PipelineRequest pipeline_{};
  std::string partition_;
  double serial_seconds_ = 0;
  std::vector<Outcome> outcomes_;
  std::vector<std::string> refused_;
};

int run_plan(const Arguments& arguments) {
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
  return {
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
                   .help =
                       "measured costs: of plait profile --out, or PipeDream's; without: counted "
                       "from MACs and bytes"},
                  {.name = "--batch", .value = "N", .help = "samples per update", .standard = "64"},
                  {.name = "--microbatches", .value = "N", .help = "per update", .standard = "1"},
                  {.name = "--strategies",
                   .value = "LIST",
                   .help = "all, or names with commas",
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
                  {.name = "--in-flight",
                   .value = "N",
                   .help = "layerpipe: most microbatches begun and not ended on a worker; 0: the "
                           "planner's choice",
                   .standard = "0",
                   .group = "Pipelines"},
                  {.name = "--no-replicas",
                   .value = "",
                   .help = "layerpipe: one worker for every piece",
                   .group = "Pipelines"},
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
}

}  // namespace plait
