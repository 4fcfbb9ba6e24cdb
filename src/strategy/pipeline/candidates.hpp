// Candidates: the plans a pipeline could have, made one by one, and the choice among them.
#pragma once

#include <string>
#include <vector>

#include "strategy/pipeline/self_timed.hpp"
#include "strategy/strategy.hpp"

namespace plait::strategy::pipeline {

/// What tells one pipeline from another.
struct Recipe {
  std::string name;
  Urgency urgency = Urgency::in_turn;
  bool asynchronous = false;
  bool replicate = false;
  bool fused = false;  ///< as in JobOptions
};

struct Candidate {
  std::vector<Stage> stages;
  std::vector<int> in_flight;  ///< per worker, as in SelfTimedOptions
  std::vector<int> open{};
  int sample = 0;
  /// Of asynchronous ones, per block: its weights are at most so many updates old; empty: the
  /// request's bound for all.
  std::vector<int> staleness{};
  bool whole_forwards = false;  ///< as in SelfTimedOptions
};

struct ScoredPlan {
  plan::Plan plan;
  double seconds = 0;  ///< of a minibatch, simulated
  std::int64_t memory = 0;
  int delay = 0;            ///< the largest
  std::int64_t delays = 0;  ///< the sum over all blocks
};

/// Plays and freezes the candidate, then simulates it.
ScoredPlan make_candidate(const PlanRequest& request, const Recipe& recipe,
                          const Candidate& candidate);

/// The plans that fit into memory, keep the bound of staleness and are nearly as fast as the
/// fastest of them.
class Choice {
 public:
  static constexpr double kAsFast = 1.001;
  /// Speed that an asynchronous plan gives up for newer weights.
  static constexpr double kNearlyAsFast = 1.02;

  struct Rule {
    std::int64_t memory = 0;  ///< of a worker, at most; 0: no limit
    int staleness = 0;        ///< at most
    double nearly = kAsFast;  ///< times the fastest one's seconds
  };
  explicit Choice(const Rule& rule) : rule_(rule) {}

  void offer(ScoredPlan made);
  bool empty() const { return near_.empty(); }
  std::int64_t least_memory() const { return least_; }

  /// After tightening, of those that are nearly as fast the one whose weights are least old (the
  /// oldest block first, then the sum over all blocks); of equals that are as fast the thriftiest.
  ScoredPlan take(const cost::CostModel& cost);

 private:
  void keep_near();

  Rule rule_;
  std::int64_t least_ = 0;
  double fastest_ = 0;
  std::vector<ScoredPlan> near_;
};

}  // namespace plait::strategy::pipeline
