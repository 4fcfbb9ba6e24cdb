// The costs that a training run plans with. Equal runs must have equal plans, so measured costs
// come from the user's cache, a resumed run takes those it began with (costs.json of its folder),
// and under MPI all workers take those of worker 0.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "cli/costs.hpp"
#include "transport/mpi.hpp"

namespace plait {

struct RunCostsOptions {
  int workers = 1;
  int threads = 1;          ///< of each worker
  MpiWorld* mpi = nullptr;  ///< null: workers are threads of this process
  bool quiet = false;
};

class RunCosts {
 public:
  RunCosts(const TrainConfig& config, const RunCostsOptions& options)
      : config_(config), options_(options) {}

  /// Found out once, for the model's network. With --cost auto they are counted where one worker is
  /// alone, where a resumed run began so, and where nothing can be kept for the next run.
  Costs& of(const Network& network);

  /// What `make` gives; from then on the costs stay. Under MPI worker 0 makes it and sends it to
  /// the others, which do not plan.
  Plan plan(const ModelSpec& model, const std::function<Plan()>& make);

  /// For the run folder: measured costs as JSON, else "".
  std::string text_to_keep() const;

 private:
  Costs find(const Network& network) const;
  Costs of_profile(const Network& network) const;
  /// Of a run that is resumed; nothing where it is not, or where other costs are asked for.
  std::optional<Costs> of_resumed_run(const Network& network) const;

  TrainConfig config_;
  RunCostsOptions options_;
  std::optional<std::string> from_worker_0_;  ///< as in text_to_keep()
  std::optional<Costs> costs_;
};

}  // namespace plait
