// Takes the given plan or asks the planner, and shares the result between MPI processes.
#include "session/run_planner.hpp"

#include <span>

#include "base/error.hpp"
#include "plan/json.hpp"
#include "planner/planner.hpp"
#include "session/plan_file.hpp"
#include "session/row_partitioner.hpp"

namespace plait {

namespace {

/// Worker 0's text on all of them.
void broadcast(Group& group, std::string& text) {
  std::uint64_t size = text.size();
  group.broadcast(std::as_writable_bytes(std::span(&size, 1)), 0);
  text.resize(size);
  if (size > 0) group.broadcast(std::as_writable_bytes(std::span(text)), 0);
}

}  // namespace

RunPlanner::RunPlanner(const TrainConfig& config, PlanMaker make)
    : RunPlanner(config,
                 RunCosts(config, {.workers = machine_of(config).workers(),
                                   .threads = threads_on_one_machine(config)}),
                 {.make = std::move(make)}) {}

Plan RunPlanner::plan(const ModelSpec& model, const Machine& machine) {
  if (options_.mpi == nullptr) {
    Plan plan = make(model, machine);
    costs_.freeze();
    return plan;
  }
  const auto group = options_.mpi->control_group();
  if (options_.mpi->rank() > 0) {
    std::string costs;
    std::string text;
    broadcast(*group, costs);
    broadcast(*group, text);
    if (text.empty()) fail("worker 0 has no plan");  // and says why
    costs_.take(costs);
    return plan_from_json(text, "the plan of worker 0", model);
  }
  std::optional<Plan> plan;
  std::exception_ptr error;
  try {
    plan = make(model, machine);
    costs_.freeze();
  } catch (...) {
    error = std::current_exception();
  }
  std::string costs = error ? "" : costs_.text();
  std::string text = error ? "" : to_json(*plan);
  broadcast(*group, costs);
  broadcast(*group, text);
  if (error) std::rethrow_exception(error);
  return std::move(*plan);
}

Plan RunPlanner::make(const ModelSpec& model, const Machine& machine) {
  if (options_.make) return options_.make(model, machine);
  if (!options_.given) return plan_of(config_, model, machine, costs_);
  check_given_plan(*options_.given, config_, machine);
  return options_.given->plan;
}

Network RunPlanner::network_to_fit(const ModelSpec& model, const Machine& machine) {
  if (options_.make) return options_.make(model, machine).network;
  TrainConfig once = config_;
  once.sweeps = 1;
  return plan_of(once, model, machine, costs_).network;
}

std::string RunPlanner::plan_text(const Plan& plan) const {
  return write_plan_document({.plan = plan, .settings = config_});
}

Plan plan_of(const TrainConfig& config, const ModelSpec& model, const Machine& machine,
             RunCosts& costs) {
  const Network network = make_network(model);
  const Machine planned = with_usual_links(machine, !config.link_between_nodes.empty());
  return costs.of(network).plan([&](const CostModel& cost) {
    return plan_with(config, {.network = network,
                              .machine = planned,
                              .cost = &cost,
                              .optimizer_states = optimizer_states(config),
                              .clip = config.clip_norm > 0,
                              .partition = row_partitioner(config.partition, config.seed)});
  });
}

}  // namespace plait
