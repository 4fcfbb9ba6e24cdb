// Settling a run: what its config leaves open (workers, threads, strategy, pieces, an outer
// optimizer) becomes values that a resumed run keeps.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "session/run_planner.hpp"

namespace plait::session {

struct SettleOptions {
  transport::MpiWorld* mpi = nullptr;  ///< null: workers are threads of this process
  CostProgress progress{};
};

struct SettledRun {
  TrainConfig config;
  std::shared_ptr<RunPlanner> planner;
  std::vector<std::string> notes{};  ///< what was chosen and why, one line each
};

/// UserError on settings that exclude each other or that the strategy does not use.
SettledRun settle(TrainConfig config, const SettleOptions& options = {});

}  // namespace plait::session
