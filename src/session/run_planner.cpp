// Takes the given plan or asks the planner, and shares the result between MPI processes.
#include "session/run_planner.hpp"

#include <span>

#include "base/error.hpp"
#include "plan/json.hpp"
#include "planner/planner.hpp"
#include "session/plan_file.hpp"
#include "session/row_partitioner.hpp"

namespace plait::session {

namespace {

/// Worker 0's text on all of them.
void broadcast(transport::Group& group, std::string& text) {
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

plan::Plan RunPlanner::plan(const graph::ModelSpec& model, const plan::Machine& machine) {
  if (options_.mpi == nullptr) {
    plan::Plan plan = make(model, machine);
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
    return plan::plan_from_json(text, "the plan of worker 0", model);
  }
  std::optional<plan::Plan> plan;
  std::exception_ptr error;
  try {
    plan = make(model, machine);
    costs_.freeze();
  } catch (...) {
    error = std::current_exception();
  }
  std::string costs = error ? "" : costs_.text();
  std::string text = error ? "" : plan::to_json(*plan);
  broadcast(*group, costs);
  broadcast(*group, text);
  if (error) std::rethrow_exception(error);
  return std::move(*plan);
}

plan::Plan RunPlanner::make(const graph::ModelSpec& model, const plan::Machine& machine) {
  if (options_.make) return options_.make(model, machine);
  if (!options_.given) return plan_of(config_, model, machine, costs_);
  check_given_plan(*options_.given, config_, machine);
  return options_.given->plan;
}

plan::Network RunPlanner::network_to_fit(const graph::ModelSpec& model,
                                         const plan::Machine& machine) {
  if (options_.make) return options_.make(model, machine).network;
  TrainConfig once = config_;
  once.sweeps = 1;
  return plan_of(once, model, machine, costs_).network;
}

std::string RunPlanner::plan_text(const plan::Plan& plan) const {
  return planner::write_plan_document({.plan = plan, .settings = config_});
}

plan::Plan plan_of(const TrainConfig& config, const graph::ModelSpec& model,
                   const plan::Machine& machine, RunCosts& costs) {
  const plan::Network network = plan::make_network(model);
  const plan::Machine planned =
      planner::with_usual_links(machine, !config.link_between_nodes.empty());
  return costs.of(network).plan([&](const cost::CostModel& cost) {
    return planner::plan_with(config,
                              {.network = network,
                               .machine = planned,
                               .cost = &cost,
                               .optimizer_states = optim::optimizer_states(config),
                               .clip = config.clip_norm > 0,
                               .partition = row_partitioner(config.partition, config.seed)});
  });
}

}  // namespace plait::session
