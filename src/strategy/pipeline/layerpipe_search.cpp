// Tries limits and orders of stages, then moves the cuts of the best.
#include "strategy/pipeline/layerpipe_search.hpp"

#include <algorithm>
#include <cmath>
#include <span>

#include "strategy/pipeline/staleness_bound.hpp"

namespace plait::strategy::pipeline {

namespace {

constexpr int kUnlimited = 1 << 20;
constexpr std::size_t kStarts = 2;  ///< cuts whose best plans are refined, for each line

/// Most microbatches in flight: all of an update, or of as many updates as weights may be old.
int most_in_flight(const PlanRequest& request) {
  if (!request.pipeline.asynchronous) return request.microbatches;
  const std::int64_t most = (std::int64_t{1} + staleness_bound(request)) * request.microbatches;
  return static_cast<int>(std::min<std::int64_t>(most, kUnlimited));
}

/// limit(w) for every worker, at least 1.
template <class Limit>
std::vector<int> limits(const PlanRequest& request, const Limit& limit) {
  std::vector<int> result;
  for (int w = 0; w < request.machine.workers(); ++w) {
    result.push_back(std::clamp(static_cast<int>(limit(w)), 1, most_in_flight(request)));
  }
  return result;
}

/// Of microbatches in flight, and of those whose backward_weights may still be to come (empty: no
/// limit).
struct Limits {
  std::vector<int> in_flight;
  std::vector<int> open{};
  bool operator==(const Limits&) const = default;
};

/// The thriftiest first.
std::vector<Limits> layerpipe_limits(const PlanRequest& request) {
  if (request.pipeline.in_flight > 0) {
    return {{limits(request, [&](int) { return request.pipeline.in_flight; })}};
  }
  std::vector<Limits> tried;
  const auto add = [&](Limits one) {
    if (std::ranges::find(tried, one) == tried.end()) tried.push_back(std::move(one));
  };
  const int workers = request.machine.workers();
  for (const double factor : {0.5, 1.0, 1.5, 2.0, 3.0}) {
    add({limits(request, [&](int worker) {
      return std::ceil(factor * (workers - worker)) + (factor > 1 ? 1 : 0);
    })});
  }
  if (request.pipeline.asynchronous) return tried;
  add({limits(request, [](int) { return kUnlimited; })});
  for (const int factor : {1, 2}) {  // weight gradients fill the bubble, those that are kept short
    add({limits(request, [&](int) { return factor * workers; }),
         limits(request, [&](int worker) { return factor * (workers - worker) - (factor - 1); })});
  }
  return tried;
}

/// Bounds of staleness, the tightest first.
std::vector<std::vector<int>> layerpipe_bounds(const PlanRequest& request,
                                               const std::vector<Stage>& stages) {
  if (!request.pipeline.asynchronous) return {{}};
  std::vector<std::vector<int>> tried{staleness_by_stage(request, stages)};
  std::vector<int> everywhere(tried.front().size(), staleness_bound(request));
  if (everywhere != tried.front()) tried.push_back(std::move(everywhere));
  return tried;
}

std::vector<Urgency> layerpipe_urgencies(const PlanRequest& request) {
  // Without a barrier forwards that come first would never end.
  if (request.pipeline.asynchronous) return {Urgency::backward_first, Urgency::fused};
  return {Urgency::backward_first, Urgency::weights_last, Urgency::forward_first};
}

/// Plays that repeat only over several minibatches freeze differently from each of them.
int samples_to_try(const PlanRequest& request) {
  return request.pipeline.asynchronous && request.microbatches <= 4 ? 3 : 1;
}

/// The candidate, played in all ways.
void offer_plays(const PlanRequest& request, Recipe recipe, Candidate candidate, Search& search) {
  const auto offer = [&] {
    ScoredPlan made = search.candidates.make(recipe, candidate);
    if (search.best.empty() || search.best.back().candidate.stages != candidate.stages) {
      search.best.push_back({recipe, candidate, made.seconds});
    } else if (made.seconds < search.best.back().seconds) {
      search.best.back() = {recipe, candidate, made.seconds};
    }
    search.choice.offer(std::move(made));
  };
  if (!candidate.open.empty()) {  // for late weight gradients only
    for (const Urgency urgency : {Urgency::backward_first, Urgency::weights_last}) {
      recipe.urgency = urgency;
      for (const bool whole_forwards : {false, true}) {
        candidate.whole_forwards = whole_forwards;
        offer();
      }
    }
    return;
  }
  for (const Urgency urgency : layerpipe_urgencies(request)) {
    recipe.urgency = urgency;
    for (int sample = 0; sample < samples_to_try(request); ++sample) {
      candidate.sample = sample;
      offer();
    }
  }
}

/// The first ones whose cuts are on the line.
std::vector<PlayedCandidate> best_on(const TaskLine& line,
                                     const std::vector<PlayedCandidate>& played, std::size_t most) {
  std::vector<PlayedCandidate> found;
  for (const PlayedCandidate& one : played) {
    if (found.size() < most && lies_on(line, one.candidate.stages)) found.push_back(one);
  }
  return found;
}

}  // namespace

void offer_limits(const Making& making, const std::vector<Stage>& stages, Search& search) {
  for (const std::vector<int>& bound : layerpipe_bounds(making.request, stages)) {
    for (const Limits& limits : layerpipe_limits(making.request)) {
      const Candidate candidate{
          .stages = stages, .in_flight = limits.in_flight, .open = limits.open, .staleness = bound};
      if (making.allowed(candidate)) {
        offer_plays(making.request, making.recipe, candidate, search);
      }
    }
  }
}

namespace {

struct Start {
  PlayedCandidate best;
  bool with_limits = true;  ///< also tries other limits
};

/// From the first line, on which the cuts are, to the last.
void refine_on(std::span<const TaskLine> lines, Start start, const Making& making, Search& search) {
  const Shifting with{search.candidates, search.choice, making.allowed};
  for (std::size_t i = 0; i < lines.size(); ++i) {
    shift_cuts(lines[i], start.best, with);
    if (!start.with_limits) continue;
    offer_limits(making, start.best.candidate.stages, search);
    PlayedCandidate again = search.best.back();
    if (again.seconds >= start.best.seconds) continue;
    for (std::size_t j = 0; j <= i; ++j) shift_cuts(lines[j], again, with);
  }
}

}  // namespace

void refine(const Making& making, Search& search) {
  std::vector<TaskLine> lines;
  for (const CutPlaces places : {CutPlaces::borders, CutPlaces::tasks, CutPlaces::samples}) {
    if (places <= making.request.pipeline.cuts) lines.emplace_back(making.request, places);
  }
  std::ranges::sort(search.best, {}, &PlayedCandidate::seconds);
  const std::vector<PlayedCandidate> played = std::move(search.best);
  search.best.clear();
  const bool is_quick = is_long(lines.back());
  std::vector<std::vector<Stage>> started;
  for (std::span<const TaskLine> rest = lines; !rest.empty(); rest = rest.subspan(1)) {
    for (const PlayedCandidate& best : best_on(rest.front(), played, is_quick ? 1 : kStarts)) {
      const std::vector<Stage>& stages = best.candidate.stages;
      if (is_quick) {
        refine_on(rest.first(1), {best, false}, making, search);
      } else if (std::ranges::find(started, stages) == started.end()) {
        started.push_back(stages);
        refine_on(rest, {best, true}, making, search);
      }
    }
  }
}

}  // namespace plait::strategy::pipeline
