// Makes a candidate plan from stages and limits, and keeps the best by time, memory or staleness.
#include "strategy/pipeline/candidates.hpp"

#include <algorithm>
#include <map>
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

void note_staleness(const plan::Plan& plan, Score& score) {
  const std::vector<int> delays = plan::staleness(plan);
  score.delay = std::ranges::max(delays);
  score.delays = std::accumulate(delays.begin(), delays.end(), std::int64_t{0});
}

void find_memory(ScoredPlan& made) {
  if (made.memory >= 0) return;
  // As if for one kind of machine: processes that plan together must choose alike.
  made.memory =
      std::ranges::max(plan::estimate_memories(made.plan, {.images = tensor::Layout::blocked16}));
}

/// Of a plan, what tells it from others of the same request.
struct BeforeTightening {
  std::vector<plan::Program> programs;
  std::vector<std::vector<int>> groups;
  std::vector<plan::Bucket> buckets;
  bool operator==(const BeforeTightening&) const = default;
};

/// Candidates often come to equal plans: these are tightened once.
void tighten_all(std::vector<ScoredPlan>& plans, const cost::CostModel& cost) {
  std::vector<BeforeTightening> before;
  for (ScoredPlan& made : plans) {
    BeforeTightening here{made.plan.programs, made.plan.groups, made.plan.buckets};
    const auto known = std::ranges::find(before, here);
    if (known == before.end()) {
      made.seconds = tighten(made.plan, cost);
    } else {
      const ScoredPlan& same = plans[static_cast<std::size_t>(known - before.begin())];
      made.seconds = same.seconds;
      made.plan.programs = same.plan.programs;
    }
    note_staleness(made.plan, made);
    before.push_back(std::move(here));
  }
}

std::vector<int> held_limits(const Candidate& candidate) {
  return std::vector<int>(candidate.held > 0 ? candidate.in_flight.size() : 0, candidate.held);
}

/// By block, where pieces that are held are counted; these are cut at borders.
std::vector<int> pieces_of(const Candidate& candidate, int blocks) {
  std::vector<int> pieces;
  if (candidate.held == 0) return pieces;
  int piece = 0;
  for (int block = 0; block < blocks; ++block) {
    if (block == candidate.stages[static_cast<std::size_t>(piece)].end.block) ++piece;
    pieces.push_back(piece);
  }
  return pieces;
}

/// Which turn a listed task belongs to; what starts or ends a microbatch goes with its neighbour.
Turn turn_of(const plan::Task& task, const Candidate& candidate) {
  const int last = static_cast<int>(candidate.stages.size()) - 1;
  const bool backward = plan::is<plan::BackwardData>(task) || plan::is<plan::BackwardWeights>(task);
  Turn turn{.backward = backward, .piece = last, .microbatch = plan::samples_of(task).begin};
  if (plan::is<plan::Loss>(task)) return turn;
  while (turn.piece > 0 && plan::block_of(task) <
                               candidate.stages[static_cast<std::size_t>(turn.piece)].begin.block) {
    --turn.piece;
  }
  return turn;
}

/// Every task waits for the one that its worker does before it.
void hold_turns(lower::Graph& graph, const Candidate& candidate) {
  std::map<Turn, std::vector<int>> jobs;
  for (int j = 0; j < graph.listed; ++j) {
    jobs[turn_of(graph.item(j).task, candidate)].push_back(j);
  }
  for (const std::vector<Turn>& turns : candidate.turns) {
    int before = -1;
    for (const Turn& turn : turns) {
      for (const int job : jobs[turn]) {
        if (before >= 0) graph.item(job).after.push_back({.item = before});
        before = job;
      }
    }
  }
}

}  // namespace

void CandidateMaker::find_jobs(const Recipe& recipe, const Candidate& candidate) {
  Key key{.stages = candidate.stages,
          .staleness = candidate.staleness,
          .owners = candidate.owners,
          .turns = candidate.turns,
          .asynchronous = recipe.asynchronous,
          .fused = recipe.fused};
  if (key == key_) return;
  const Placement placement =
      place(candidate.stages, request_.network.size(), request_.microbatches, candidate.owners);
  graph_ = make_jobs(request_, placement, {.fused = recipe.fused});
  if (!candidate.turns.empty()) hold_turns(graph_, candidate);
  if (recipe.asynchronous) {
    const std::vector<int> everywhere(request_.network.blocks.size(), staleness_bound(request_));
    hold_staleness(graph_, candidate.staleness.empty() ? everywhere : candidate.staleness);
  }
  key_ = std::move(key);
  tried_.clear();
}

Score CandidateMaker::score(const plan::Plan& plan) const {
  Score score;
  note_staleness(plan, score);
  score.seconds =
      simulate::simulate(plan, *request_.cost,
                         {.minibatches = simulate::steady_minibatches(plan), .keep_events = false})
          .step_seconds;
  return score;
}

ScoredPlan CandidateMaker::make(const Recipe& recipe, const Candidate& candidate) {
  find_jobs(recipe, candidate);
  const SelfTimed played =
      play(graph_, {.urgency = recipe.urgency,
                    .in_flight = candidate.in_flight,
                    .open = candidate.open,
                    .held = held_limits(candidate),
                    .pieces = pieces_of(candidate, request_.network.size()),
                    .whole_forwards = candidate.whole_forwards,
                    .minibatches = recipe.asynchronous ? minibatches_to_play(request_) : 1,
                    .sample = candidate.sample});
  lower::Order order = freeze(graph_, played, recipe.asynchronous);
  ScoredPlan made;
  made.plan = lower::write_programs(graph_, order);
  made.plan.strategy = recipe.name;
  made.plan.old_weights = request_.pipeline.weights;
  if (recipe.asynchronous) plan::set_least_delays(made.plan);
  const auto known = std::ranges::find(tried_, order, &Tried::order);
  if (known != tried_.end()) {
    static_cast<Score&>(made) = known->score;
    return made;
  }
  tried_.push_back({std::move(order), score(made.plan)});
  static_cast<Score&>(made) = tried_.back().score;
  return made;
}

void Choice::offer(ScoredPlan made) {
  if (made.delay > rule_.staleness) return;
  if (rule_.memory > 0) {
    find_memory(made);
    least_ = least_ == 0 ? made.memory : std::min(least_, made.memory);
    if (made.memory > rule_.memory) return;
  }
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
  // Tightened they need no more.
  const bool asked = near_.size() > 1 || near_.front().plan.depth() > 0;
  for (ScoredPlan& made : near_) {
    if (asked) find_memory(made);
  }
  // Of equal age the fastest first: what is not tightened cannot be chosen.
  std::ranges::stable_sort(near_, {}, [](const ScoredPlan& made) {
    return std::tuple(made.delay, made.delays, made.seconds, made.memory);
  });
  if (near_.front().plan.depth() > 0) {
    near_.resize(std::min(near_.size(), kTightened));
    tighten_all(near_, cost);
    keep_near();
  }
  const auto least = age(*std::ranges::min_element(near_, {}, age));
  std::erase_if(near_, [&](const ScoredPlan& one) { return age(one) != least; });
  fastest_ = std::ranges::min_element(near_, {}, &ScoredPlan::seconds)->seconds;
  std::erase_if(near_, [&](const ScoredPlan& one) { return one.seconds > kAsFast * fastest_; });
  return std::move(*std::ranges::min_element(near_, {}, &ScoredPlan::memory));
}

}  // namespace plait::strategy::pipeline
