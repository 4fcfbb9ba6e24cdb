// RunPlanner: how a training run comes to its plan. It is given, or made by the planner with the
// run's costs; under MPI worker 0 does that and sends it to the others, which do not plan.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "planner/document.hpp"
#include "session/run_costs.hpp"
#include "transport/mpi.hpp"

namespace plait {

/// Makes the plan for this model and machine in place of the planner.
using PlanMaker = std::function<Plan(const ModelSpec& model, const Machine& machine)>;

struct RunPlannerOptions {
  MpiWorld* mpi = nullptr;              ///< null: workers are threads of this process
  std::optional<PlanDocument> given{};  ///< the plan to be played
  PlanMaker make{};                     ///< plans that no strategy makes; null: the planner
};

class RunPlanner {
 public:
  /// `config` leaves nothing open (settle.hpp).
  RunPlanner(const TrainConfig& config, RunCosts costs, RunPlannerOptions options = {})
      : config_(config), costs_(std::move(costs)), options_(std::move(options)) {}
  /// With counted or cached costs, nothing given, on threads.
  explicit RunPlanner(const TrainConfig& config, PlanMaker make = {});

  /// The plan of the run; from then on its costs stay. Under MPI every process calls it.
  Plan plan(const ModelSpec& model, const Machine& machine);
  /// The network in which the blocks that the strategy adds are fitted: that of the plan, with one
  /// sweep.
  Network network_to_fit(const ModelSpec& model, const Machine& machine);

  Costs& costs(const Network& network) { return costs_.of(network); }
  /// For the run folder: costs.json ("": none) and plan.json.
  std::string costs_text() const { return costs_.text(); }
  std::string plan_text(const Plan& plan) const;

 private:
  Plan make(const ModelSpec& model, const Machine& machine);

  TrainConfig config_;
  RunCosts costs_;
  RunPlannerOptions options_;
};

/// The strategy's plan for the config, with these costs.
Plan plan_of(const TrainConfig& config, const ModelSpec& model, const Machine& machine,
             RunCosts& costs);

}  // namespace plait
