// A search with steps that become shorter: each cut alone, and with all cuts behind it.
#include "strategy/pipeline/shift_cuts.hpp"

#include <algorithm>

namespace plait::strategy::pipeline {

namespace {

/// Lengths of steps in cuts of the line: half a piece, half of that, ..., one cut; on long lines
/// the first three.
std::vector<std::ptrdiff_t> steps_on(const TaskLine& line, std::size_t pieces) {
  std::vector<std::ptrdiff_t> steps{std::max<std::ptrdiff_t>(
      1, std::ssize(line.cuts()) / (2 * static_cast<std::ptrdiff_t>(pieces)))};
  const std::size_t most = is_long(line) ? 3 : line.cuts().size();
  while (steps.back() > 1 && steps.size() < most) steps.push_back(steps.back() / 2);
  return steps;
}

/// The candidate with the ends of pieces `first` to `last` moved; false where they cannot be there.
bool shift(const TaskLine& line, std::size_t first, std::size_t last, std::ptrdiff_t step,
           Candidate& candidate) {
  const auto place = [&](const Cut& cut) {
    return std::ranges::find(line.cuts(), cut) - line.cuts().begin();
  };
  std::vector<Stage>& stages = candidate.stages;
  for (std::size_t piece = first; piece <= last; ++piece) {
    if (stages[piece].replicas > 1 || stages[piece + 1].replicas > 1) return false;
    const std::ptrdiff_t to = place(stages[piece].end) + step;
    if (to <= 0 || to + 1 >= std::ssize(line.cuts())) return false;
    stages[piece].end = stages[piece + 1].begin = line.cuts()[static_cast<std::size_t>(to)];
  }
  return std::ranges::all_of(stages,
                             [&](const Stage& one) { return place(one.begin) < place(one.end); });
}

}  // namespace

bool is_long(const TaskLine& line) { return line.cuts().size() > 2000; }

bool lies_on(const TaskLine& line, const std::vector<Stage>& stages) {
  return std::ranges::all_of(stages, [&](const Stage& stage) {
    return std::ranges::find(line.cuts(), stage.end) != line.cuts().end();
  });
}

void shift_cuts(const TaskLine& line, PlayedCandidate& best, const Shifting& with) {
  if (!lies_on(line, best.candidate.stages)) return;
  const std::size_t cuts = best.candidate.stages.size() - 1;
  const auto try_to_shift = [&](std::size_t first, std::size_t last, std::ptrdiff_t step) {
    Candidate candidate = best.candidate;
    if (!shift(line, first, last, step, candidate) || !with.allowed(candidate)) return;
    ScoredPlan made = with.candidates.make(best.recipe, candidate);
    if (made.seconds >= best.seconds) return;
    best.candidate = std::move(candidate);
    best.seconds = made.seconds;
    with.choice.offer(std::move(made));
  };
  for (const std::ptrdiff_t step : steps_on(line, cuts + 1)) {
    for (const std::ptrdiff_t signed_step : {-step, step}) {
      for (std::size_t cut = 0; cut < cuts; ++cut) try_to_shift(cut, cut, signed_step);
      for (std::size_t cut = 0; cut + 1 < cuts; ++cut) try_to_shift(cut, cuts - 1, signed_step);
    }
  }
}

}  // namespace plait::strategy::pipeline
