// A training run from its settled settings: the job with its observers and what is said before it
// begins.
#pragma once

#include "cli/interrupt.hpp"
#include "cli/live.hpp"
#include "cli/run_report.hpp"
#include "cli/workers_table.hpp"
#include "session/settle.hpp"
#include "session/train.hpp"

namespace plait::cli {

/// What config.toml of the run folder says: without the folder's own place, so that it can be
/// replayed.
std::string recipe(session::TrainConfig config);

/// What a run is told beside its settings.
struct Surroundings {
  const InterruptGuard& guard;
  transport::MpiWorld* mpi = nullptr;
  Live* live = nullptr;  ///< null: nobody looks on
  bool quiet = false;
  bool wants_sync = false;  ///< --pipeline sync was typed
};

/// Trains, and puts what the plan promises into `expected`. Failure where memory runs out.
session::TrainResult run_training(const session::SettledRun& run, const Surroundings& around,
                                  Expected& expected);

}  // namespace plait::cli
