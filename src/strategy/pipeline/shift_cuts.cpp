// A search with steps that become shorter: each cut alone, and with all cuts behind it.
#include "strategy/pipeline/shift_cuts.hpp"

#include <algorithm>

namespace plait::strategy::pipeline {

namespace {

/// Seconds of work that a step moves a cut by, however many blocks these are: half a mean piece,
/// half of that, ..., at last the next cut; on long lines the first three.
std::vector<double> steps_on(const TaskLine& line, std::size_t pieces) {
  constexpr std::size_t kHalvings = 7;
  std::vector<double> steps{line.total() / (2 * static_cast<double>(pieces))};
  while (steps.size() < (is_long(line) ? 3 : kHalvings)) steps.push_back(steps.back() / 2);
  if (!is_long(line)) steps.push_back(0);
  return steps;
}

/// The number of the cut so many seconds behind (or before) another one, but never that one.
std::ptrdiff_t moved(const TaskLine& line, std::ptrdiff_t from, double seconds, int direction) {
  const double target = line.before(static_cast<std::size_t>(from)) + direction * seconds;
  std::ptrdiff_t to = from + direction;
  const auto is_inside = [&](std::ptrdiff_t cut) {
    return cut > 0 && cut + 1 < std::ssize(line.cuts());
  };
  while (seconds > 0 && is_inside(to + direction) &&
         direction * (target - line.before(static_cast<std::size_t>(to + direction))) >= 0) {
    to += direction;
  }
  return to;
}

struct Step {
  double seconds = 0;
  int direction = 1;
};

/// The candidate with the ends of pieces `first` to `last` moved; false where they cannot be there.
bool shift(const TaskLine& line, std::size_t first, std::size_t last, const Step& step,
           Candidate& candidate) {
  const auto place = [&](const Cut& cut) {
    return std::ranges::find(line.cuts(), cut) - line.cuts().begin();
  };
  std::vector<Stage>& stages = candidate.stages;
  for (std::size_t piece = first; piece <= last; ++piece) {
    if (stages[piece].replicas > 1 || stages[piece + 1].replicas > 1) return false;
    const std::ptrdiff_t to = moved(line, place(stages[piece].end), step.seconds, step.direction);
    if (to <= 0 || to + 1 >= std::ssize(line.cuts())) return false;
    stages[piece].end = stages[piece + 1].begin = line.cuts()[static_cast<std::size_t>(to)];
  }
  return std::ranges::all_of(stages,
                             [&](const Stage& one) { return place(one.begin) < place(one.end); });
}

}  // namespace

bool is_long(const TaskLine& line) { return line.cuts().size() > 2000; }

void Offers::add(const Recipe& recipe, const Candidate& candidate) {
  ScoredPlan made = candidates_.make(recipe, candidate);
  if (!best_ || made.seconds < best_->seconds) best_ = {recipe, candidate, made.seconds};
  choice_.offer(std::move(made));
}

bool lies_on(const TaskLine& line, const std::vector<Stage>& stages) {
  return std::ranges::all_of(stages, [&](const Stage& stage) {
    return std::ranges::find(line.cuts(), stage.end) != line.cuts().end();
  });
}

void shift_cuts(const TaskLine& line, PlayedCandidate& best, const Shifting& with) {
  if (best.candidate.stages.empty() || !lies_on(line, best.candidate.stages)) return;
  // Of forward tasks, so that planning takes seconds however large the network is.
  constexpr std::int64_t kMostPlayed = 4'000'000;
  std::int64_t left = kMostPlayed / (std::int64_t{line.blocks()} * line.microbatches());
  const std::size_t cuts = best.candidate.stages.size() - 1;
  const auto try_to_shift = [&](std::size_t first, std::size_t last, const Step& step) {
    Candidate candidate = best.candidate;
    if (left <= 0 || !shift(line, first, last, step, candidate)) return;
    if (!with.allowed(candidate)) return;
    --left;
    ScoredPlan made = with.candidates.make(best.recipe, candidate);
    if (made.seconds >= best.seconds) return;
    best.candidate = std::move(candidate);
    best.seconds = made.seconds;
    with.choice.offer(std::move(made));
  };
  for (const double seconds : steps_on(line, cuts + 1)) {
    for (const int direction : {-1, 1}) {
      const Step step{seconds, direction};
      for (std::size_t cut = 0; cut < cuts; ++cut) try_to_shift(cut, cut, step);
      for (std::size_t cut = 0; cut + 1 < cuts; ++cut) try_to_shift(cut, cuts - 1, step);
    }
  }
}

}  // namespace plait::strategy::pipeline
