// LayerPipe's search: cuts with limits and orders, and cuts that are moved where that makes the
// minibatch shorter.
#pragma once

#include "strategy/pipeline/candidates.hpp"
#include "strategy/pipeline/shift_cuts.hpp"

namespace plait::strategy::pipeline {

/// What has been played, and the fastest of it.
struct Search {
  CandidateMaker candidates;
  Choice choice;
  std::vector<PlayedCandidate> best{};  ///< of each cut
};

/// What candidates are made of, and which of them the strategy may have.
struct Making {
  const PlanRequest& request;
  Recipe recipe{};
  IsAllowed allowed{};
};

/// These stages with all limits, in all ways.
void offer_limits(const Making& making, const std::vector<Stage>& stages, Search& search);

/// From the best plan of every cut, from the coarsest line to the finest: where finer cuts are
/// allowed, no minibatch becomes longer. On each line other limits are tried behind the shifts. On
/// long lines from the best plan of each line, on that line alone.
void refine(const Making& making, Search& search);

}  // namespace plait::strategy::pipeline
