// Requests that cannot fit into the machine's memory are refused before the work, in one line.
#pragma once

#include <string>

#include "plan/plan.hpp"
#include "session/config.hpp"

namespace plait::session {

/// UserError where `bytes` are more than this machine has free: "WHAT needs about ... of memory,
/// but ... are free on this machine; WAY OUT".
void check_memory(std::int64_t bytes, const std::string& what, const std::string& way_out);

/// The workers of the plan that run on this machine together: all of them as threads, those of a
/// node as MPI processes. Where `memory_per_worker` is given, each worker beside that instead.
void check_training_memory(const TrainConfig& config, const plan::Plan& plan, bool mpi);

/// Weights of the network evaluated in batches of `batch`.
void check_evaluation_memory(const plan::Network& network, std::int64_t batch, int threads);

}  // namespace plait::session
