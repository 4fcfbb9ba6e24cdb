// Counts the tasks of every piece and microbatch down.
#include "strategy/pipeline/held_pieces.hpp"

#include <algorithm>

namespace plait::strategy::pipeline {

HeldPieces::HeldPieces(const lower::Graph& graph, std::vector<int> pieces, std::vector<int> limit,
                       int minibatches)
    : pieces_(std::move(pieces)),
      limit_(std::move(limit)),
      microbatches_(static_cast<std::size_t>(graph.schedule.plan.microbatches) *
                    static_cast<std::size_t>(minibatches)),
      held_(graph.schedule.plan.programs.size()) {
  if (pieces_.empty()) return;
  units_.resize(static_cast<std::size_t>(std::ranges::max(pieces_) + 1) * microbatches_);
  for (int j = 0; j < graph.listed; ++j) {
    const Job& job = graph.item(j);
    if (!counts(job)) continue;
    for (auto m = static_cast<std::size_t>(plan::samples_of(job.task).begin); m < microbatches_;
         m += static_cast<std::size_t>(graph.schedule.plan.microbatches)) {
      ++units_[index_of(job, static_cast<std::int64_t>(m))].left;
    }
  }
}

bool HeldPieces::counts(const Job& job) const {
  return !pieces_.empty() &&
         (plan::is<plan::Forward>(job.task) || plan::is<plan::BackwardData>(job.task) ||
          plan::is<plan::BackwardWeights>(job.task));
}

bool HeldPieces::may_begin(const Job& job, std::int64_t microbatch, bool has_begun_here) const {
  if (!counts(job) || units_[index_of(job, microbatch)].begun) return true;
  const auto worker = static_cast<std::size_t>(job.worker);
  return held_[worker] + (has_begun_here ? 0 : 1) < limit_[worker];
}

void HeldPieces::note_begin(const Job& job, std::int64_t microbatch) {
  if (!counts(job)) return;
  Unit& unit = units_[index_of(job, microbatch)];
  if (!unit.begun) ++held_[static_cast<std::size_t>(job.worker)];
  unit.begun = true;
}

void HeldPieces::note_end(const Job& job, std::int64_t microbatch) {
  if (!counts(job)) return;
  if (--units_[index_of(job, microbatch)].left == 0) --held_[static_cast<std::size_t>(job.worker)];
}

}  // namespace plait::strategy::pipeline
