// Moves the cuts of a candidate where that makes its simulated minibatch shorter. Cuts are chosen
// for the slowest stage; of a pipeline that is flushed the bubble counts too.
#pragma once

#include "strategy/pipeline/candidates.hpp"

namespace plait::strategy::pipeline {

/// A candidate as it was played.
struct PlayedCandidate {
  Recipe recipe{};
  Candidate candidate{};
  double seconds = 0;  ///< of a minibatch; 0: nothing was played yet
};

/// Planning would take too long to look at every cut of it.
bool is_long(const TaskLine& line);

/// Offers every plan that is faster than the one before. Cuts lie on `line`; those beside replicas
/// stay.
void shift_cuts(const TaskLine& line, PlayedCandidate best, CandidateMaker& candidates,
                Choice& choice);

}  // namespace plait::strategy::pipeline
