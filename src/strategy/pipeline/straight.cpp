// Balances the stages at borders of blocks, with replicas where asked, and plays the candidates.
#include "strategy/pipeline/straight.hpp"

#include <algorithm>

#include "strategy/pipeline/checked_request.hpp"
#include "strategy/pipeline/shift_cuts.hpp"
#include "strategy/pipeline/staleness_bound.hpp"
#include "strategy/pipeline/task_line.hpp"

namespace plait::strategy::pipeline {

namespace {

/// Cuts at borders only: the first one whose slowest stage is fastest, and the evenest of those.
std::vector<std::vector<Stage>> straight_stages(const PlanRequest& request, bool replicate) {
  const TaskLine line(request, CutPlaces::borders);
  std::vector<std::vector<Stage>> tried;
  for (const bool even : {false, true}) {
    tried.push_back(balance(line, request.machine.workers(), replicate, even));
  }
  if (tried.front().empty()) {
    const int most =
        replicate ? request.network.size() * request.microbatches : request.network.size();
    too_many_workers(request, most, "one or more to every worker");
  }
  std::erase_if(tried, [](const std::vector<Stage>& stages) { return stages.empty(); });
  return tried;
}

/// Of every worker.
std::vector<int> stage_limits(const std::vector<Stage>& stages, int workers,
                              const StageLimit& limit) {
  std::vector<int> result;
  for (const Stage& stage : stages) {
    const int behind = workers - static_cast<int>(result.size());
    for (int r = 0; r < stage.replicas; ++r) {
      result.push_back(std::max(1, limit(behind, stage.replicas)));
    }
  }
  return result;
}

/// In turn: sometimes a backward that is there should be taken. With weight gradients that fill
/// bubbles sometimes a forward that others wait for.
std::vector<Urgency> urgencies_of(const Recipe& recipe) {
  if (recipe.urgency == Urgency::in_turn) return {Urgency::in_turn, Urgency::fused};
  if (recipe.urgency == Urgency::backward_first) {
    return {Urgency::backward_first, Urgency::weights_last};
  }
  return {recipe.urgency};
}

/// The candidate, with backwards that may or may not begin between two forwards of a microbatch.
void offer_ways(const Recipe& recipe, Candidate candidate, Offers& offers) {
  for (const bool whole_forwards : {false, true}) {
    if (whole_forwards && recipe.urgency == Urgency::all_forwards) continue;  // they are anyway
    candidate.whole_forwards = whole_forwards;
    for (const Urgency urgency : urgencies_of(recipe)) {
      Recipe other = recipe;
      other.urgency = urgency;
      offers.add(other, candidate);
    }
  }
}

}  // namespace

int one_forward_one_backward(int workers, int replicas) {
  return (workers + replicas - 1) / replicas;
}

ScoredPlan make_straight(const PlanRequest& request, const Recipe& recipe,
                         const StageLimit& in_flight, const StageLimit& open) {
  const int workers = request.machine.workers();
  CandidateMaker candidates(request);
  Choice choice({.staleness = recipe.asynchronous ? staleness_bound(request) : 0});
  Offers offers(candidates, choice);
  std::vector<std::vector<Stage>> tried = straight_stages(request, recipe.replicate);
  if (recipe.replicate && workers <= request.network.size()) {  // replicas may not pay
    for (std::vector<Stage>& stages : straight_stages(request, false)) {
      tried.push_back(std::move(stages));
    }
  }
  for (const std::vector<Stage>& stages : tried) {
    Candidate candidate{.stages = stages, .in_flight = stage_limits(stages, workers, in_flight)};
    if (open) candidate.open = stage_limits(stages, workers, open);
    offer_ways(recipe, candidate, offers);
    if (recipe.urgency != Urgency::in_turn || !recipe.replicate) continue;
    for (int& limit : candidate.in_flight) ++limit;  // replicas of one microbatch wait for messages
    for (const Urgency urgency : urgencies_of(recipe)) {
      Recipe other = recipe;
      other.urgency = urgency;
      offers.add(other, candidate);
    }
  }
  if (!recipe.asynchronous && workers > 1) {
    PlayedCandidate best = *offers.best();
    const auto any = [](const Candidate&) { return true; };
    shift_cuts(TaskLine(request, CutPlaces::borders), best, {candidates, choice, any});
  }
  return choice.take(*request.cost);
}

}  // namespace plait::strategy::pipeline
