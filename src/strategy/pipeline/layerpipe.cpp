// LayerPipe: tries cuts of the task line, limits and orders, and keeps the best plan. Never slower
// than the straight pipelines.
#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "strategy/pipeline/candidates.hpp"
#include "strategy/pipeline/checked_request.hpp"
#include "strategy/pipeline/pipelines.hpp"
#include "strategy/pipeline/staleness_bound.hpp"
#include "strategy/pipeline/straight.hpp"
#include "strategy/pipeline/task_line.hpp"

namespace plait::strategy {

namespace {

using pipeline::Candidate;
using pipeline::CandidateMaker;
using pipeline::CheckedRequest;
using pipeline::Choice;
using pipeline::Cutting;
using pipeline::Recipe;
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
std::vector<std::vector<Stage>> layerpipe_stages(const PlanRequest& request) {
  const TaskLine line(request);
  std::vector<std::vector<Stage>> tried;
  for (const bool replicate : {false, true}) {
    if (replicate && !request.pipeline.replicate) continue;
    for (const Cutting cutting : {Cutting::inside_blocks, Cutting::at_borders}) {
      std::vector<Stage> stages = balance(line, request.machine.workers(), cutting, replicate);
      if (!stages.empty()) tried.push_back(std::move(stages));
    }
  }
  const bool all_alike =
      request.pipeline.replicate && request.microbatches >= request.machine.workers();
  if (all_alike && request.machine.workers() > 1) {
    tried.push_back({{.begin = {0, 0},
                      .end = {request.network.size(), 0},
                      .replicas = request.machine.workers()}});
  }
  if (tried.empty()) {
    int most = 0;
    for (const plan::NetworkBlock& block : request.network.blocks) {
      most += block.parameters > 0 ? 2 + request.microbatches : 1;
    }
    pipeline::too_many_workers(request, most, "whole or in three tasks");
  }
  return tried;
}

/// Limits of microbatches in flight, the thriftiest first.
std::vector<std::vector<int>> layerpipe_limits(const PlanRequest& request) {
  if (request.pipeline.in_flight > 0) {
    return {limits(request, [&](int) { return request.pipeline.in_flight; })};
  }
  std::vector<std::vector<int>> tried;
  const auto add = [&](std::vector<int> one) {
    const bool known = std::ranges::find(tried, one) != tried.end();
    if (!known || !request.pipeline.asynchronous) tried.push_back(std::move(one));
  };
  for (const double factor : {0.5, 1.0, 1.5, 2.0, 3.0}) {
    add(limits(request, [&](int worker) {
      return std::ceil(factor * (request.machine.workers() - worker)) + (factor > 1 ? 1 : 0);
    }));
  }
  if (!request.pipeline.asynchronous) add(limits(request, [](int) { return kUnlimited; }));
  return tried;
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

Recipe layerpipe_recipe(const PlanRequest& request) {
  return {.name = "layerpipe", .asynchronous = request.pipeline.asynchronous};
}

/// The candidate, played in all ways.
void offer_plays(const PlanRequest& request, CandidateMaker& candidates, Candidate candidate,
                 Choice& choice) {
  Recipe recipe = layerpipe_recipe(request);
  for (const Urgency urgency : layerpipe_urgencies(request)) {
    recipe.urgency = urgency;
    for (int sample = 0; sample < samples_to_try(request); ++sample) {
      candidate.sample = sample;
      choice.offer(candidates.make(recipe, candidate));
    }
  }
}

Choice::Rule choice_rule(const PlanRequest& request) {
  Choice::Rule rule{.memory = request.machine.memory_per_worker};
  if (!request.pipeline.asynchronous) return rule;
  rule.staleness = pipeline::staleness_bound(request);
  rule.nearly = Choice::kNearlyAsFast;
  return rule;
}

/// What straight pipelines come to, zero bubble and those with a fused backward: LayerPipe is never
/// slower.
void offer_straight(const PlanRequest& request, Choice& choice) {
  Recipe recipe = layerpipe_recipe(request);
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
    const bool possible =
        (!replicate || request.pipeline.replicate) && request.machine.workers() <= most;
    if (possible)
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

}  // namespace

plan::Plan make_layerpipe_plan(const PlanRequest& given) {
  const CheckedRequest checked(given);
  const PlanRequest& request = checked.request();
  CandidateMaker candidates(request);
  Choice choice(choice_rule(request));
  for (const std::vector<Stage>& stages : layerpipe_stages(request)) {
    for (const std::vector<int>& bound : layerpipe_bounds(request, stages)) {
      for (const std::vector<int>& in_flight : layerpipe_limits(request)) {
        offer_plays(request, candidates,
                    {.stages = stages, .in_flight = in_flight, .staleness = bound}, choice);
      }
    }
  }
  offer_straight(request, choice);
  if (choice.empty()) refuse_memory(request, choice.least_memory());
  return choice.take(*request.cost).plan;
}

}  // namespace plait::strategy
