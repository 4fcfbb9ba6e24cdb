// Candidates: the plans a pipeline could have, made one by one, and the choice among them.
#pragma once

#include <string>
#include <vector>

#include "strategy/pipeline/self_timed.hpp"
#include "strategy/strategy.hpp"

namespace plait::pipeline {

/// What tells one pipeline from another.
struct Recipe {
  std::string name;
  Urgency urgency = Urgency::in_turn;
  bool asynchronous = false;
  bool replicate = false;
  bool fused = false;      ///< as in JobOptions
  bool first_cut = false;  ///< no other cut than the one most descriptions of it have
};

struct Candidate {
  std::vector<Stage> stages;
  std::vector<int> in_flight;  ///< per worker, as in SelfTimedOptions
  std::vector<int> open{};
  int sample = 0;
};

struct Made {
  Plan plan;
  double seconds = 0;  ///< of a minibatch, simulated
  std::int64_t memory = 0;
  int delay = 0;
};

/// Plays and freezes the candidate, then simulates it.
Made make_candidate(const PlanRequest& request, const Recipe& recipe, const Candidate& candidate);

/// The plans that fit into memory and are nearly as fast as the fastest of them.
class Choice {
 public:
  explicit Choice(std::int64_t cap) : cap_(cap) {}

  void offer(Made made);
  bool empty() const { return near_.empty(); }
  std::int64_t least_memory() const { return least_; }

  /// After tightening, of those that are nearly as fast the one whose weights are least old; of
  /// equals the thriftiest.
  Made take(const CostModel& cost);

 private:
  static constexpr double kNearly = 1.001;
  std::int64_t cap_;
  std::int64_t least_ = 0;
  double fastest_ = 0;
  std::vector<Made> near_;
};

}  // namespace plait::pipeline
