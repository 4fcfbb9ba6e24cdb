#include "strategy/pipeline/candidates.hpp"

#include <algorithm>

#include "plan/memory.hpp"
#include "plan/versions.hpp"
#include "simulate/simulate.hpp"
#include "strategy/pipeline/freeze.hpp"
#include "strategy/pipeline/tighten.hpp"

namespace plait::pipeline {

namespace {

/// Enough for the steady state to stand in the middle.
int minibatches_to_play(const PlanRequest& request) {
  const int deep =
      (2 * request.machine.workers() + request.microbatches - 1) / request.microbatches;
  return 4 * (2 + deep);
}

}  // namespace

Made make_candidate(const PlanRequest& request, const Recipe& recipe, const Candidate& candidate) {
  const Placement placement = place(candidate.stages, request.network.size(), request.microbatches);
  const JobGraph graph = make_jobs(request, placement, {.fused = recipe.fused});
  const SelfTimed played =
      play(graph, {.urgency = recipe.urgency,
                   .in_flight = candidate.in_flight,
                   .open = candidate.open,
                   .minibatches = recipe.asynchronous ? minibatches_to_play(request) : 1,
                   .sample = candidate.sample});
  Made made{
      .plan = freeze(
          request, graph, played,
          {.strategy = recipe.name, .asynchronous = recipe.asynchronous, .fused = recipe.fused}),
      .seconds = 0};
  made.plan.old_weights = request.pipeline.weights;
  if (recipe.asynchronous) set_least_delays(made.plan);
  for (int worker = 0; worker < made.plan.workers(); ++worker) {
    made.memory = std::max(made.memory, estimate_memory(made.plan, worker));
  }
  made.delay = std::ranges::max(staleness(made.plan));
  made.seconds = simulate(made.plan, *request.cost,
                          {.minibatches = steady_minibatches(made.plan), .keep_events = false})
                     .step_seconds;
  return made;
}

void Choice::offer(Made made) {
  least_ = least_ == 0 ? made.memory : std::min(least_, made.memory);
  if (cap_ > 0 && made.memory > cap_) return;
  if (!near_.empty() && made.seconds > kNearly * fastest_) return;
  fastest_ = near_.empty() ? made.seconds : std::min(fastest_, made.seconds);
  near_.push_back(std::move(made));
  std::erase_if(near_, [&](const Made& one) { return one.seconds > kNearly * fastest_; });
}
Made Choice::take(const CostModel& cost) {
  constexpr std::size_t kTightened = 12;
  const auto rank = [](const Made& made) { return std::pair(made.delay, made.memory); };
  std::ranges::stable_sort(near_, {}, rank);
  if (near_.front().plan.depth() > 0) {
    near_.resize(std::min(near_.size(), kTightened));
    for (Made& made : near_) {
      made.seconds = tighten(made.plan, cost);
      made.delay = std::ranges::max(staleness(made.plan));
    }
    fastest_ = std::ranges::min_element(near_, {}, &Made::seconds)->seconds;
    std::erase_if(near_, [&](const Made& one) { return one.seconds > kNearly * fastest_; });
  }
  return std::move(*std::ranges::min_element(near_, {}, rank));
}

}  // namespace plait::pipeline
