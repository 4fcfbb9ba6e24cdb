// Candidates: the plans a pipeline could have, made one by one, and the choice among them.
#pragma once

#include <string>
#include <vector>

#include "lower/lower.hpp"
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

/// Forward, or all of backward, of a piece for a microbatch.
struct Turn {
  bool backward = false;
  int piece = 0;
  int microbatch = 0;
  auto operator<=>(const Turn&) const = default;
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
  std::vector<int> owners{};    ///< as in place()
  int held = 0;  ///< pieces that a worker may hold, as in SelfTimedOptions; 0: no limit
  /// Per worker: everything it does, in this order; empty: the order of the play.
  std::vector<std::vector<Turn>> turns{};
};

struct Score {
  double seconds = 0;       ///< of a minibatch, simulated
  int delay = 0;            ///< the largest
  std::int64_t delays = 0;  ///< the sum over all blocks
};

struct ScoredPlan : Score {
  plan::Plan plan;
  /// Of the worker that needs most; -1: not known, as most plans are dropped before it is asked.
  std::int64_t memory = -1;
};

/// Plays and freezes candidates, then simulates them. What those that follow each other have in
/// common is found once: jobs of the same stages, plans of the same order.
class CandidateMaker {
 public:
  explicit CandidateMaker(const PlanRequest& request) : request_(request) {}
  ScoredPlan make(const Recipe& recipe, const Candidate& candidate);

 private:
  /// What the jobs depend on.
  struct Key {
    std::vector<Stage> stages{};
    std::vector<int> staleness{};
    std::vector<int> owners{};
    std::vector<std::vector<Turn>> turns{};
    bool asynchronous = false;
    bool fused = false;
    bool operator==(const Key&) const = default;
  };
  struct Tried {
    lower::Order order;
    Score score;
  };
  void find_jobs(const Recipe& recipe, const Candidate& candidate);
  Score score(const plan::Plan& plan) const;

  const PlanRequest& request_;
  Key key_{};
  lower::Graph graph_{};
  std::vector<Tried> tried_{};  ///< with these jobs
};

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
