// The costs that a training run plans with. Equal runs must have equal plans, so measured costs
// come from the user's cache, and a resumed run takes those it began with (costs.json of its
// folder).
#pragma once

#include <optional>
#include <string>

#include "session/costs.hpp"

namespace plait::session {

struct RunCostsOptions {
  int workers = 1;
  int threads = 1;  ///< of each worker
  CostProgress progress{};
};

class RunCosts {
 public:
  RunCosts(const TrainConfig& config, RunCostsOptions options)
      : config_(config), options_(std::move(options)) {}

  /// Found out once, for the model's network. With `cost` auto they are counted where one worker is
  /// alone, where a resumed run began so, and where nothing can be kept for the next run.
  Costs& of(const plan::Network& network);
  /// From now on they stay as they are.
  void freeze();

  /// For the run folder: measured costs as JSON, else "".
  std::string text() const;
  /// Those of another worker, as in text().
  void take(std::string text) { taken_ = std::move(text); }

 private:
  Costs find(const plan::Network& network) const;
  Costs of_profile(const plan::Network& network) const;
  /// Of a run that is resumed; nothing where it is not, or where other costs are asked for.
  std::optional<Costs> of_resumed_run(const plan::Network& network) const;

  TrainConfig config_;
  RunCostsOptions options_;
  std::optional<std::string> taken_;
  std::optional<Costs> costs_;
};

}  // namespace plait::session
