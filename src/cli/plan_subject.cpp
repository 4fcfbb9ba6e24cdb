#include "cli/plan_subject.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "base/nearest.hpp"
#include "cli/numbers.hpp"
#include "cli/verbs.hpp"
#include "cost/analytic.hpp"
#include "cost/measured.hpp"
#include "cost/open_profile.hpp"
#include "model/model_file.hpp"
#include "strategy/strategy.hpp"

namespace plait {

namespace {

constexpr std::int64_t kMaxWorkers = 1 << 20;

Network network_of(const Arguments& arguments, const std::string& model) {
  const auto classes = static_cast<int>(arguments.integer("--classes", 10, {1, 1 << 24}));
  const std::string* shape = arguments.find("--data-shape");
  return make_network(
      load_model(model, shape != nullptr ? parse_shape(*shape) : usual_input(model), classes));
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

PlanSubject plan_subject(const Arguments& arguments) {
  const std::string* model = arguments.find("--model");
  const std::string path = arguments.text("--profile", "");
  PlanSubject subject;
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

std::vector<Machine> plan_machines(const Arguments& arguments) {
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
      if (std::ranges::find(machines, machine) == machines.end()) machines.push_back(machine);
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

}  // namespace plait
