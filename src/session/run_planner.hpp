// RunPlanner: how a training run comes to its plan. It is given, or made by the planner with the
// run's costs; under MPI worker 0 does that and sends it to the others, which do not plan.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "planner/document.hpp"
#include "session/run_costs.hpp"
#include "transport/mpi.hpp"

namespace plait::session {

/// Makes the plan for this model and machine in place of the planner.
using PlanMaker =
    std::function<plan::Plan(const graph::ModelSpec& model, const plan::Machine& machine)>;

struct RunPlannerOptions {
  transport::MpiWorld* mpi = nullptr;            ///< null: workers are threads of this process
  std::optional<planner::PlanDocument> given{};  ///< the plan to be played
  PlanMaker make{};  ///< plans that no strategy makes; null: the planner
};

class RunPlanner {
 public:
  /// `config` leaves nothing open (settle.hpp).
  RunPlanner(const TrainConfig& config, RunCosts costs, RunPlannerOptions options = {})
      : config_(config), costs_(std::move(costs)), options_(std::move(options)) {}
  /// With counted or cached costs, nothing given, on threads.
  explicit RunPlanner(const TrainConfig& config, PlanMaker make = {});

  /// The plan of the run; from then on its costs stay. Under MPI every process calls it.
  plan::Plan plan(const graph::ModelSpec& model, const plan::Machine& machine);
  /// The network in which the blocks that the strategy adds are fitted: that of the plan, with one
  /// sweep.
  plan::Network network_to_fit(const graph::ModelSpec& model, const plan::Machine& machine);

  Costs& costs(const plan::Network& network) { return costs_.of(network); }
  /// For the run folder: costs.json ("": none) and plan.json.
  std::string costs_text() const { return costs_.text(); }
  std::string plan_text(const plan::Plan& plan) const;

 private:
  plan::Plan make(const graph::ModelSpec& model, const plan::Machine& machine);

  TrainConfig config_;
  RunCosts costs_;
  RunPlannerOptions options_;
};

/// The strategy's plan for the config, with these costs.
plan::Plan plan_of(const TrainConfig& config, const graph::ModelSpec& model,
                   const plan::Machine& machine, RunCosts& costs);

}  // namespace plait::session
