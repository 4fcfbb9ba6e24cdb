// The plans of the strategies that were asked for, on every machine that was asked for, each played
// by the simulator.
#pragma once

#include <string>
#include <vector>

#include "cli/plan_subject.hpp"
#include "cli/verb.hpp"
#include "planner/choice.hpp"
#include "planner/planner.hpp"
#include "session/config.hpp"
#include "simulate/simulate.hpp"

namespace plait::cli {

class Comparison {
 public:
  explicit Comparison(const Arguments& arguments);

  const PlanSubject& subject() const { return subject_; }
  const std::vector<plan::Machine>& machines() const { return machines_; }
  const session::TrainConfig& settings() const { return settings_; }
  const std::vector<planner::Outcome>& outcomes() const { return outcomes_; }
  /// "strategy: why it cannot be planned".
  const std::vector<std::string>& refused() const { return refused_; }
  std::int64_t free_bytes() const { return free_; }  ///< of this machine's memory; 0: not known
  const cost::CostModel& cost() const { return subject_.costs->model(); }
  /// UserError where none fits into memory.
  const planner::Outcome& best() const;
  /// Whether a node like this machine has the memory. With --memory-per-worker, plans that need
  /// more are not there.
  bool fits(const planner::Outcome& one) const;

  trace::Trace trace_of(const planner::Outcome& one) const;
  /// One step; where steps overlap, a few, from the filling on.
  trace::Trace short_trace_of(const planner::Outcome& one) const;

 private:
  /// A strategy that cannot use one of the machines is left out there; one that can use none, or
  /// that was asked for by name, says why. Where nothing else was asked for and it can use none,
  /// that is the end.
  void compare(const std::string& name, bool only);
  strategy::RowPartitioner row_partitioner_of() const;
  plan::Plan plan_of(const std::string& strategy, const plan::Machine& machine);
  planner::Outcome play(plan::Plan plan) const {
    return planner::outcome_of(std::move(plan), cost(), serial_seconds_);
  }

  PlanSubject subject_;
  std::vector<plan::Machine> machines_;
  session::TrainConfig settings_;
  double serial_seconds_ = 0;
  std::int64_t free_ = 0;
  bool named_ = false;  ///< the strategies were
  std::vector<planner::Outcome> outcomes_;
  std::vector<std::string> refused_;
};

}  // namespace plait::cli
