// What is there before the first worker starts: data, model, plan and run folder.
#pragma once

#include <chrono>

#include "session/run_folder.hpp"
#include "session/setup.hpp"
#include "session/train.hpp"

namespace plait::session {

/// After trouble, workers get this long to end by themselves; one that computes for ever does not.
constexpr auto kGrace = std::chrono::seconds(2);

struct Prepared {
  Setup setup;
  plan::Plan plan;
};

/// Data and model.
Prepared prepare(const TrainJob& job);

/// Asks for the plan and checks it against the data, the memory and the initial weights. UserError
/// where they do not fit together. Under MPI every process calls it.
void prepare_plan(const TrainJob& job, const plan::Machine& machine, Prepared& prepared);

/// The folder of the run, with its plan and what that was made of.
RunFolder make_folder(const TrainJob& job, const plan::Plan& plan);

/// "" where nothing is written.
std::string checkpoints_of(const RunFolder& folder);

/// This thread, one of `workers` on this machine, to its cores; `place`: its number among them.
void pin(const TrainConfig& config, int place, int workers);

/// The workers are threads of this process, or this process is one of them.
TrainResult train_on_threads(const TrainJob& job);
TrainResult train_on_mpi(const TrainJob& job);

}  // namespace plait::session
