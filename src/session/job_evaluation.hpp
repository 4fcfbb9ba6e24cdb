// JobEvaluation: the test loss of a job. Where every worker holds every block, each evaluates a
// part of the test data; otherwise worker 0 evaluates all of it.
#pragma once

#include <optional>

#include "run/evaluate.hpp"
#include "run/worker.hpp"
#include "session/member_parts.hpp"

namespace plait::session {

class JobEvaluation {
 public:
  /// Both outlive the evaluation.
  JobEvaluation(const MemberParts& parts, run::Worker& worker, bool replicated);

  /// On every member. Where not replicated, worker 0 has collected the parameters.
  const run::Evaluation& run();
  /// Of the weights as they are; nothing where they have changed since run().
  const std::optional<run::Evaluation>& current() const { return current_; }
  void weights_changed() { current_.reset(); }

 private:
  run::EvaluationSums own_sums();

  const MemberParts& parts_;
  run::Worker& worker_;
  std::int64_t evaluators_;          ///< the first so many workers
  std::optional<run::Chain> whole_;  ///< the model, where the plan's network is cut
  std::optional<run::Evaluator> evaluator_;
  std::optional<run::Evaluation> current_;
};

}  // namespace plait::session
