// Moves the cuts of a candidate where that makes its simulated minibatch shorter. Cuts are chosen
// for the slowest stage; of a pipeline that is flushed the bubble counts too.
#pragma once

#include <functional>
#include <optional>

#include "strategy/pipeline/candidates.hpp"

namespace plait::strategy::pipeline {

/// A candidate as it was played.
struct PlayedCandidate {
  Recipe recipe{};
  Candidate candidate{};
  double seconds = 0;  ///< of a minibatch
};

/// Makes candidates, offers them to a choice and remembers the fastest.
class Offers {
 public:
  Offers(CandidateMaker& candidates, Choice& choice) : candidates_(candidates), choice_(choice) {}
  void add(const Recipe& recipe, const Candidate& candidate);
  const std::optional<PlayedCandidate>& best() const { return best_; }

 private:
  CandidateMaker& candidates_;
  Choice& choice_;
  std::optional<PlayedCandidate> best_;
};

/// Whether the strategy may have this candidate.
using IsAllowed = std::function<bool(const Candidate& candidate)>;

/// Planning would take too long to look at every cut of it.
bool is_long(const TaskLine& line);

/// Whether all cuts between the stages are cuts of the line.
bool lies_on(const TaskLine& line, const std::vector<Stage>& stages);

/// What plans are made with, which of them are allowed, and where they are offered.
struct Shifting {
  CandidateMaker& candidates;
  Choice& choice;
  IsAllowed allowed;
};

/// Offers every plan that is faster than the one before, and leaves the fastest in `best`. Nothing
/// is moved where a cut does not lie on `line`; those beside replicas stay.
void shift_cuts(const TaskLine& line, PlayedCandidate& best, const Shifting& with);

}  // namespace plait::strategy::pipeline
