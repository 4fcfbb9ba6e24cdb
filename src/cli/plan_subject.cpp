// Reads the flags of plait plan; machines and strategies may be lists.
#include "cli/plan_subject.hpp"

#include <algorithm>
#include <new>

#include "base/error.hpp"
#include "base/nearest.hpp"
#include "cli/fields.hpp"
#include "cli/measuring_line.hpp"
#include "cli/named_network.hpp"
#include "cli/numbers.hpp"
#include "cli/terminal.hpp"
#include "cli/verbs.hpp"
#include "cost/open_profile.hpp"
#include "graph/model_file.hpp"
#include "planner/cost_settings.hpp"
#include "run/cores.hpp"
#include "session/plan_file.hpp"
#include "strategy/strategy.hpp"

namespace plait::cli {

namespace {

constexpr std::int64_t kMaxWorkers = 1 << 20;

plan::Network network_of(const Arguments& arguments, const std::string& model) {
  return plan::make_network(trainable_network(arguments, model));
}

session::TrainConfig read_cost_settings(const Arguments& arguments) {
  session::TrainConfig settings;
  for (const Setting<planner::CostSettings>& row : planner::cost_settings()) {
    const Field& field = *find_field(row.key);
    const std::string flag = flag_of(field);
    if (const std::string* value = arguments.find(flag)) {
      set_from_text(settings, field, *value, flag);
    }
  }
  planner::check_cost_settings(settings);
  return settings;
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

}  // namespace

plan::Plan plan_in_file(const Arguments& arguments, const std::string& file) {
  const std::string* name = arguments.find("--model");
  if (name == nullptr) return session::read_plan_file(file, nullptr).plan;
  const graph::ModelSpec model = trainable_network(arguments, *name);
  return session::read_plan_file(file, &model).plan;
}

PlanSubject plan_subject(const Arguments& arguments) {
  const std::string* model = arguments.find("--model");
  const std::string path = arguments.text("--profile", "");
  PlanSubject subject;
  subject.settings = read_cost_settings(arguments);
  if (path.empty()) {
    if (model == nullptr) user_error("plan needs a network; add --model NAME or --profile FILE");
    subject.model = *model;
    subject.network = network_of(arguments, *model);
  } else {
    cost::ProfileSource source = cost::open_profile(path);
    if (auto* ours = std::get_if<cost::ProfileFile>(&source)) {
      subject.batch = ours->points.front().batch;
      subject.model = model != nullptr ? *model : ours->model;
      if (model == nullptr && arguments.find("--data-shape") == nullptr &&
          !ours->data_shape.empty()) {
        subject.network = plan::make_network(graph::load_model(
            ours->model, tensor::parse_shape(ours->data_shape), std::max(1, ours->classes)));
      } else {
        subject.network = network_of(arguments, subject.model);
      }
      subject.costs = session::Costs::profiled(*ours, subject.network);
    } else {
      auto& published = std::get<cost::PublishedProfile>(source);
      if (model != nullptr) {
        user_error("--profile {} is a published profile with its own network; leave --model away",
                   path);
      }
      subject.network = published.network;
      subject.model = published.network.name;
      subject.batch = published.batch;
      subject.costs = session::Costs::given(subject.network, cost::make_published_cost(published));
    }
  }
  subject.batch = arguments.integer("--batch", subject.batch, {1, 1 << 24});
  return subject;
}

void settle_costs(PlanSubject& subject, const Arguments& arguments,
                  const std::vector<plan::Machine>& machines) {
  const auto asked = static_cast<int>(arguments.integer("--threads", 0, {0, run::kMaxThreads}));
  if (auto costs = session::Costs::unmeasured(subject.network, subject.settings)) {
    if (asked > 0) {
      user_error("--threads {} is for measured costs; --cost {} {}", asked, subject.settings.cost,
                 planner::systolic_array(subject.settings)
                     ? "counts clock cycles"
                     : "has the speed of a worker in --peak-gflops");
    }
    subject.costs = std::move(costs);
  }
  if (subject.costs) {
    if (asked > 0 && subject.costs->profile() != nullptr &&
        subject.costs->profile()->threads != asked) {
      user_error("--threads {}, but the profile was measured with {} thread(s) per worker", asked,
                 subject.costs->profile()->threads);
    }
    return;
  }
  int workers = 1;  // of the fullest node: each has as many cores as this machine
  for (const plan::Machine& machine : machines)
    workers = std::max(workers, machine.workers_per_node);
  const int threads = asked > 0 ? asked : std::max(1, run::usable_cores() / workers);
  try {
    subject.costs = session::Costs::measured(
        {.network = subject.network,
         .model = subject.model,
         .batch = subject.batch,
         .microbatches = arguments.integer("--microbatches", 1, {1, 1 << 20}),
         .threads = threads},
        subject.settings.cost == "again" ? session::Freshness::now : session::Freshness::cached,
        measuring_line(false));
  } catch (const std::bad_alloc&) {
    fail("not enough memory to measure {} with --batch {}; use a smaller one, or --cost analytic",
         subject.model, subject.batch);
  }
  if (!subject.costs->cache_problem().empty()) {
    tell("the measured costs are not kept: {}\n", subject.costs->cache_problem());
  }
}

std::vector<plan::Machine> plan_machines(const Arguments& arguments) {
  plan::Machine machine{.inside = plan::kUsualInside, .between = plan::kUsualBetween};
  if (const std::string* link = arguments.find("--link-inside-node")) {
    machine.inside = plan::parse_link(*link, "--link-inside-node");
  }
  if (const std::string* link = arguments.find("--link-between-nodes")) {
    machine.between = plan::parse_link(*link, "--link-between-nodes");
  }
  machine.memory_per_worker =
      arguments.integer("--memory-per-worker", 0, {0, std::int64_t{1} << 40}) << 20;
  machine.nodes = static_cast<int>(arguments.integer("--nodes", 1, {1, kMaxWorkers}));
  const std::string* per_node = arguments.find("--workers-per-node");
  const std::string* workers = arguments.find("--workers");
  std::vector<plan::Machine> machines;
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
      if (std::ranges::find(machines, machine) == machines.end()) machines.push_back(machine);
    }
    if (machines.empty()) machines.push_back(machine);  // more nodes than the usual workers
  }
  for (const plan::Machine& one : machines) plan::check_machine(one);
  return machines;
}

std::vector<std::string> wanted_strategies(const Arguments& arguments) {
  const std::string text = arguments.text("--strategies", "all");
  return text == "all" ? strategy::strategy_names() : split(text);
}

}  // namespace plait::cli
