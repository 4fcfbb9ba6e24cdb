// How old the weights of an asynchronous pipeline may be. PipeDream's are as many updates old as
// there are stages behind a block; no other pipeline is older unless it was asked for.
#pragma once

#include "strategy/pipeline/jobs.hpp"

namespace plait::strategy::pipeline {

/// The most updates that weights of any block are old: as requested, or as many as PipeDream has
/// with these workers and microbatches.
int staleness_bound(const PlanRequest& request);

/// The same block by block: one less for every worker before the one that runs its forward, in
/// microbatches. What PipeDream has with these stages.
std::vector<int> staleness_by_stage(const PlanRequest& request, const std::vector<Stage>& stages);

/// Tasks that read the weights of block b wait for the update of 1 + bound[b] minibatches before,
/// so neither a play nor the loop frozen from it has older ones.
void hold_staleness(lower::Graph& graph, const std::vector<int>& bound);

}  // namespace plait::strategy::pipeline
