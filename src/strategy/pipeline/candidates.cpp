// Makes a candidate plan from stages and limits, and keeps the best by time, memory or staleness.
#include "strategy/pipeline/candidates.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "plan/versions.hpp"
#include "plan/worker_memory.hpp"
#include "simulate/simulate.hpp"
#include "strategy/pipeline/freeze.hpp"
#include "strategy/pipeline/staleness_bound.hpp"
#include "strategy/pipeline/tighten.hpp"

namespace plait::strategy::pipeline {

namespace {

/// Enough for the steady state to stand in the middle.
int minibatches_to_play(const PlanRequest& request) {
  const int deep =
      (2 * request.machine.workers() + request.microbatches - 1) / request.microbatches;
  return 4 * (2 + deep);
}

void note_staleness(ScoredPlan& made) {
  const std::vector<int> delays = plan::staleness(made.plan);
  made.delay = std::ranges::max(delays);
  made.delays = std::accumulate(delays.begin(), delays.end(), std::int64_t{0});
}

}  // namespace

ScoredPlan make_candidate(const PlanRequest& request, const Recipe& recipe,
                          const Candidate& candidate) {
  const Placement placement = place(candidate.stages, request.network.size(), request.microbatches);
  lower::Graph graph = make_jobs(request, placement, {.fused = recipe.fused});
  if (recipe.asynchronous) {
    const std::vector<int> everywhere(request.network.blocks.size(), staleness_bound(request));
    hold_staleness(graph, candidate.staleness.empty() ? everywhere : candidate.staleness);
  }
  const SelfTimed played =
      play(graph, {.urgency = recipe.urgency,
                   .in_flight = candidate.in_flight,
                   .open = candidate.open,
                   .whole_forwards = candidate.whole_forwards,
                   .minibatches = recipe.asynchronous ? minibatches_to_play(request) : 1,
                   .sample = candidate.sample});
  ScoredPlan made{.plan = freeze(std::move(graph), played,
                                 {.strategy = recipe.name, .asynchronous = recipe.asynchronous}),
                  .seconds = 0};
  made.plan.old_weights = request.pipeline.weights;
  if (recipe.asynchronous) plan::set_least_delays(made.plan);
  // As if for one kind of machine: processes that plan together must choose alike.
  made.memory =
      std::ranges::max(plan::estimate_memories(made.plan, {.images = tensor::Layout::blocked16}));
  note_staleness(made);
  made.seconds = simulate::simulate(
                     made.plan, *request.cost,
                     {.minibatches = simulate::steady_minibatches(made.plan), .keep_events = false})
                     .step_seconds;
  return made;
}

void Choice::offer(ScoredPlan made) {
  if (made.delay > rule_.staleness) return;
  least_ = least_ == 0 ? made.memory : std::min(least_, made.memory);
  if (rule_.memory > 0 && made.memory > rule_.memory) return;
  if (!near_.empty() && made.seconds > rule_.nearly * fastest_) return;
  near_.push_back(std::move(made));
  keep_near();
}

void Choice::keep_near() {
  fastest_ = std::ranges::min_element(near_, {}, &ScoredPlan::seconds)->seconds;
  std::erase_if(near_,
                [&](const ScoredPlan& one) { return one.seconds > rule_.nearly * fastest_; });
}

ScoredPlan Choice::take(const cost::CostModel& cost) {
  constexpr std::size_t kTightened = 12;
  const auto age = [](const ScoredPlan& made) { return std::pair(made.delay, made.delays); };
  // Of equal age the fastest first: what is not tightened cannot be chosen.
  std::ranges::stable_sort(near_, {}, [](const ScoredPlan& made) {
    return std::tuple(made.delay, made.delays, made.seconds, made.memory);
  });
  if (near_.front().plan.depth() > 0) {
    near_.resize(std::min(near_.size(), kTightened));
    for (ScoredPlan& made : near_) {
      made.seconds = tighten(made.plan, cost);
      note_staleness(made);
    }
    keep_near();
  }
  const auto least = age(*std::ranges::min_element(near_, {}, age));
  std::erase_if(near_, [&](const ScoredPlan& one) { return age(one) != least; });
  fastest_ = std::ranges::min_element(near_, {}, &ScoredPlan::seconds)->seconds;
  std::erase_if(near_, [&](const ScoredPlan& one) { return one.seconds > kAsFast * fastest_; });
  return std::move(*std::ranges::min_element(near_, {}, &ScoredPlan::memory));
}

}  // namespace plait::strategy::pipeline
