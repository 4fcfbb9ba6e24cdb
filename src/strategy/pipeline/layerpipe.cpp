// LayerPipe: tries cuts of the task line, limits and orders, and keeps the best plan. With replicas
// it may also be a straight pipeline or replicas of the whole network.
#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "strategy/pipeline/candidates.hpp"
#include "strategy/pipeline/checked_request.hpp"
#include "strategy/pipeline/pipelines.hpp"
#include "strategy/pipeline/shift_cuts.hpp"
#include "strategy/pipeline/staleness_bound.hpp"
#include "strategy/pipeline/straight.hpp"
#include "strategy/pipeline/task_line.hpp"

namespace plait::strategy {

namespace {

using pipeline::Candidate;
using pipeline::CandidateMaker;
using pipeline::CheckedRequest;
using pipeline::Choice;
using pipeline::PlayedCandidate;
using pipeline::Recipe;
using pipeline::ScoredPlan;
using pipeline::Stage;
using pipeline::TaskLine;
using pipeline::Urgency;

constexpr int kUnlimited = 1 << 20;

/// Most microbatches in flight: all of an update, or of as many updates as weights may be old.
int most_in_flight(const PlanRequest& request) {
  if (!request.pipeline.asynchronous) return request.microbatches;
  const std::int64_t most =
      (std::int64_t{1} + pipeline::staleness_bound(request)) * request.microbatches;
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

/// The cuts LayerPipe tries, best balance first.
std::vector<std::vector<Stage>> layerpipe_stages(const PlanRequest& request, bool replicated) {
  std::vector<std::vector<Stage>> tried;
  for (const bool replicate : {false, true}) {
    if (replicate && !replicated) continue;
    for (const CutPlaces places : {CutPlaces::samples, CutPlaces::tasks, CutPlaces::borders}) {
      if (places > request.pipeline.cuts) continue;
      const TaskLine line(request, places);
      for (const bool even : {true, false}) {
        std::vector<Stage> stages = balance(line, request.machine.workers(), replicate, even);
        const bool known = std::ranges::find(tried, stages) != tried.end();
        if (!stages.empty() && !known) tried.push_back(std::move(stages));
      }
    }
  }
  const bool all_alike = replicated && request.microbatches >= request.machine.workers();
  if (all_alike && request.machine.workers() > 1) {
    tried.push_back({{.begin = {0, 0},
                      .end = {request.network.size(), 0},
                      .replicas = request.machine.workers()}});
  }
  if (tried.empty()) {
    const auto most = TaskLine(request, request.pipeline.cuts).cuts().size() - 1;
    pipeline::too_many_workers(request, static_cast<int>(most), "whole or in tasks");
  }
  return tried;
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

/// A straight pipeline whose weight gradients are kept short is zero bubble: another method.
bool is_of_another(const Candidate& candidate) {
  return !candidate.open.empty() &&
         std::ranges::all_of(candidate.stages,
                             [](const Stage& stage) { return stage.end.at_border(); });
}

/// Bounds of staleness, the tightest first.
std::vector<std::vector<int>> layerpipe_bounds(const PlanRequest& request,
                                               const std::vector<Stage>& stages) {
  if (!request.pipeline.asynchronous) return {{}};
  std::vector<std::vector<int>> tried{pipeline::staleness_by_stage(request, stages)};
  std::vector<int> everywhere(tried.front().size(), pipeline::staleness_bound(request));
  if (everywhere != tried.front()) tried.push_back(std::move(everywhere));
  return tried;
}

std::vector<Urgency> layerpipe_urgencies(const PlanRequest& request) {
  // Without a barrier forwards that come first would never end.
  return {Urgency::backward_first,
          request.pipeline.asynchronous ? Urgency::fused : Urgency::forward_first};
}

/// Plays that repeat only over several minibatches freeze differently from each of them.
int samples_to_try(const PlanRequest& request) {
  return request.pipeline.asynchronous && request.microbatches <= 4 ? 3 : 1;
}

/// What has been played, and the fastest of it.
struct Search {
  CandidateMaker candidates;
  Choice choice;
  std::vector<PlayedCandidate> best{};  ///< of each cut
};

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
    for (const bool whole_forwards : {false, true}) {
      candidate.whole_forwards = whole_forwards;
      offer();
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

/// From the best plan of every cut, from the coarsest line to the finest: a finer one never ends with
/// a longer minibatch. On long lines from the best plan of each line, on that line alone.
void refine(const PlanRequest& request, const pipeline::IsAllowed& allowed, Search& search) {
  std::vector<TaskLine> lines;
  for (const CutPlaces places : {CutPlaces::borders, CutPlaces::tasks, CutPlaces::samples}) {
    if (places <= request.pipeline.cuts) lines.emplace_back(request, places);
  }
  const pipeline::Shifting with{search.candidates, search.choice, allowed};
  std::ranges::sort(search.best, {}, &PlayedCandidate::seconds);
  if (is_long(lines.back())) {
    for (const TaskLine& line : lines) {
      const auto best = std::ranges::find_if(search.best, [&](const PlayedCandidate& one) {
        return lies_on(line, one.candidate.stages);
      });
      if (best == search.best.end()) continue;
      PlayedCandidate shifted = *best;
      shift_cuts(line, shifted, with);
    }
    return;
  }
  for (PlayedCandidate& best : search.best) {
    for (const TaskLine& line : lines) shift_cuts(line, best, with);
  }
}

Choice::Rule choice_rule(const PlanRequest& request) {
  Choice::Rule rule{.memory = request.machine.memory_per_worker};
  if (!request.pipeline.asynchronous) return rule;
  rule.staleness = pipeline::staleness_bound(request);
  rule.nearly = Choice::kNearlyAsFast;
  return rule;
}

/// What straight pipelines come to, zero bubble and those with a fused backward.
void offer_straight(const PlanRequest& request, Recipe recipe, Choice& choice) {
  if (!recipe.asynchronous && request.machine.workers() <= request.network.size()) {
    const int most = 2 * request.machine.workers();
    recipe.urgency = Urgency::backward_first;
    choice.offer(pipeline::make_straight(
        request, recipe, [=](int, int) { return most; },
        [](int workers, int) { return 2 * workers - 1; }));
  }
  recipe.urgency = Urgency::in_turn;
  recipe.fused = true;
  for (const bool replicate : {false, true}) {
    recipe.replicate = replicate;
    const int most = request.network.size() * (replicate ? request.microbatches : 1);
    if (request.machine.workers() > most) continue;
    choice.offer(pipeline::make_straight(request, recipe, pipeline::one_forward_one_backward));
  }
}

[[noreturn]] void refuse_memory(const PlanRequest& request, std::int64_t least) {
  constexpr std::int64_t mib = 1 << 20;
  const std::int64_t needed = (least + mib - 1) / mib;
  setting_error(
      "memory_per_worker", request.machine.memory_per_worker / mib,
      "is too small for {} with `batch` {} in {} microbatches on {} "
      "workers: the thriftiest plan needs {}; use `memory_per_worker` {}, a smaller batch or more "
      "workers",
      request.network.name, request.batch, request.microbatches, request.machine.workers(), needed,
      needed);
}

plan::Plan make(const PlanRequest& given, const std::string& name, bool replicated) {
  const CheckedRequest checked(given);
  const PlanRequest& request = checked.request();
  const Recipe recipe{.name = name,
                      .urgency = Urgency::backward_first,
                      .asynchronous = request.pipeline.asynchronous};
  Search search{CandidateMaker(request), Choice(choice_rule(request))};
  const auto allowed = [&](const Candidate& one) { return replicated || !is_of_another(one); };
  for (const std::vector<Stage>& stages : layerpipe_stages(request, replicated)) {
    for (const std::vector<int>& bound : layerpipe_bounds(request, stages)) {
      for (const Limits& limits : layerpipe_limits(request)) {
        const Candidate candidate{.stages = stages,
                                  .in_flight = limits.in_flight,
                                  .open = limits.open,
                                  .staleness = bound};
        if (allowed(candidate)) offer_plays(request, recipe, candidate, search);
      }
    }
  }
  if (!recipe.asynchronous && request.machine.workers() > 1) {
    refine(request, allowed, search);
  }
  Choice& choice = search.choice;
  // Straight pipelines have limits of their own.
  if (replicated && request.pipeline.in_flight == 0) offer_straight(request, recipe, choice);
  if (choice.empty()) refuse_memory(request, choice.least_memory());
  return choice.take(*request.cost).plan;
}

}  // namespace

plan::Plan make_layerpipe_plan(const PlanRequest& request) {
  return make(request, "layerpipe", false);
}

plan::Plan make_layerpipe_replicated_plan(const PlanRequest& request) {
  return make(request, "layerpipe-replicated", true);
}

}  // namespace plait::strategy
