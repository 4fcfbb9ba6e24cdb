// WorkerModel: what a worker computes with: the blocks built for its batch sizes, their parameters,
// and the versions of weights that its plan reads.
#pragma once

#include "optim/optimizer.hpp"
#include "run/weight_history.hpp"
#include "run/worker_chains.hpp"
#include "run/worker_context.hpp"

namespace plait::run {

/// Of every block: what the worker's tasks use. Worker 0 holds all weights and optimizer arrays,
/// because it collects and saves them.
std::vector<BlockNeeds> block_needs(const plan::Plan& plan, int worker);

struct WorkerModel {
  WorkerModel(const plan::Plan& plan, const WorkerOptions& options);
  WorkerModel(const WorkerModel&) = delete;
  WorkerModel& operator=(const WorkerModel&) = delete;

  std::unique_ptr<optim::Optimizer> optimizer;
  WorkerChains chains;
  ParameterStore parameters;
  WeightHistory history;
};

}  // namespace plait::run
