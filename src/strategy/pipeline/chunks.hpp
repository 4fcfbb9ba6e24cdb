// Pipelines whose workers have several pieces of the network each, not next to each other: dealt
// out round by round, or there and back. Their schedules as published.
#pragma once

#include "strategy/pipeline/candidates.hpp"

namespace plait::strategy::pipeline {

/// Per piece its worker: piece c on worker c % workers.
std::vector<int> dealt_in_rounds(int workers, int rounds);
/// Worker w has pieces w and 2 workers - 1 - w, so that loss and input are on worker 0.
std::vector<int> there_and_back(int workers);

/// The order of one forward, one backward of several pieces per worker (Narayanan et al., SC 2021):
/// worker r begins with 2 (workers - r - 1) + (rounds - 1) workers forwards; microbatches go
/// through its pieces in groups of as many as there are workers. Where the microbatches do not
/// fill the last group, turns that would wait for each other are swapped.
std::vector<std::vector<Turn>> interleaved_turns(int workers, int rounds, int microbatches);

/// The fastest of 2 to 4 pieces per worker, in the order of interleaved_turns. UserError where in
/// every cut the gradient of a tensor with several readers would come back to a worker.
ScoredPlan make_interleaved(const PlanRequest& request, const Recipe& recipe);

/// Two pieces per worker, there and back; of some limits of microbatches in flight the fastest with
/// which no worker holds more than 2 x workers pieces, which is what one forward, one backward
/// holds (Qi et al., ICLR 2024). The orders are plays, not the published search, which ends with
/// no bubble on even networks; these keep at most half of zb-h1's.
ScoredPlan make_v_shaped(const PlanRequest& request, Recipe recipe);

}  // namespace plait::strategy::pipeline
