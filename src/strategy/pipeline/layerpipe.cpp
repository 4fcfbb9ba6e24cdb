// LayerPipe: tries cuts of the task line, limits and orders, and keeps the best plan. With replicas
// it may also be a straight pipeline or replicas of the whole network.
#include <algorithm>

#include "base/error.hpp"
#include "strategy/pipeline/checked_request.hpp"
#include "strategy/pipeline/layerpipe_search.hpp"
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
using pipeline::Making;
using pipeline::Recipe;
using pipeline::Search;
using pipeline::Stage;
using pipeline::TaskLine;
using pipeline::Urgency;

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

/// A straight pipeline whose weight gradients are kept short is zero bubble: another method.
bool is_of_another(const Candidate& candidate) {
  return !candidate.open.empty() && std::ranges::all_of(candidate.stages, [](const Stage& stage) {
    return stage.end.at_border();
  });
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
  const Making making{request, recipe,
                      [&](const Candidate& one) { return replicated || !is_of_another(one); }};
  for (const std::vector<Stage>& stages : layerpipe_stages(request, replicated)) {
    offer_limits(making, stages, search);
  }
  if (!recipe.asynchronous && request.machine.workers() > 1) refine(making, search);
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
