#include "strategy/pipeline/pipelines.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/error.hpp"
#include "cost/analytic.hpp"
#include "plan/memory.hpp"
#include "plan/versions.hpp"
#include "simulate/simulate.hpp"
#include "strategy/pipeline/freeze.hpp"
#include "strategy/pipeline/tighten.hpp"

namespace plait {

namespace {

using pipeline::Cutting;
using pipeline::JobGraph;
using pipeline::SelfTimed;
using pipeline::Stage;
using pipeline::TaskLine;
using pipeline::Urgency;

/// What tells one pipeline from another.
struct Recipe {
  std::string name;
  Urgency urgency = Urgency::in_turn;
  bool asynchronous = false;
  bool replicate = false;
  bool fused = false;      ///< as in JobOptions
  bool first_cut = false;  ///< no other cut than the one most descriptions of it have
};

struct Candidate {
  std::vector<Stage> stages;
  std::vector<int> in_flight;  ///< per worker, as in SelfTimedOptions
  std::vector<int> open{};
  int sample = 0;
};

struct Made {
  Plan plan;
  double seconds = 0;  ///< of a minibatch, simulated
  std::int64_t memory = 0;
  int delay = 0;
};

/// A request that is good for every pipeline, with costs.
class Ground {
 public:
  explicit Ground(const PlanRequest& given) : request_(given) {
    if (request_.cost == nullptr) {
      counted_ = make_analytic_cost(given.network);
      request_.cost = counted_.get();
    }
    check_chain();
    check_clip();
    check_microbatches();
  }
  const PlanRequest& request() const { return request_; }
  int workers() const { return request_.machine.workers(); }

 private:
  void check_chain() const {
    const Network& network = request_.network;
    for (int b = 0; b < network.size(); ++b) {
      const NetworkBlock& block = network.blocks[static_cast<std::size_t>(b)];
      if (block.src == b && block.dst == b + 1) continue;
      user_error(
          "block {} reads tensor {} instead of the result of the block before it: a pipeline is "
          "cut where one tensor crosses; put the skip and what it spans into one block",
          block.name, block.src);
    }
  }
  void check_clip() const {
    if (!request_.clip || workers() == 1) return;
    user_error(
        "--clip-norm needs the gradients of the whole network on every worker, and a pipeline has "
        "them on different ones: leave it away, or use --strategy data_parallel");
  }
  void check_microbatches() const {
    const std::int64_t batch = request_.batch;
    const std::int64_t parts = request_.microbatches;
    if (batch % parts == 0) return;
    std::int64_t below = std::min(parts, batch);
    while (batch % below != 0) --below;
    std::int64_t above = parts;
    while (above <= batch && batch % above != 0) ++above;
    const bool nearer_above = above <= batch && above - parts < parts - below;
    user_error("--microbatches {} do not divide --batch {}: the nearest number that does is {}",
               parts, batch, nearer_above ? above : below);
  }

  PlanRequest request_;
  std::unique_ptr<CostModel> counted_;
};

/// Enough for the steady state to stand in the middle.
int minibatches_to_play(const PlanRequest& request) {
  const int deep =
      (2 * request.machine.workers() + request.microbatches - 1) / request.microbatches;
  return 4 * (2 + deep);
}

Made make(const PlanRequest& request, const Recipe& recipe, const Candidate& candidate) {
  const pipeline::Placement placement =
      pipeline::place(candidate.stages, request.network.size(), request.microbatches);
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

constexpr int kUnlimited = 1 << 20;

/// limit(w) for every worker, at least 1 and at most all microbatches.
template <class Limit>
std::vector<int> limits(const PlanRequest& request, bool asynchronous, const Limit& limit) {
  std::vector<int> result;
  for (int w = 0; w < request.machine.workers(); ++w) {
    const int most = asynchronous ? kUnlimited : request.microbatches;
    result.push_back(std::clamp(static_cast<int>(limit(w)), 1, most));
  }
  return result;
}

[[noreturn]] void too_many_workers(const PlanRequest& request, int most, const char* of_what) {
  user_error(
      "--workers {} are more than a pipeline can use: {} has {} blocks to give {}; use at most {} "
      "workers",
      request.machine.workers(), request.network.name, request.network.size(), of_what, most);
}

/// Cuts at borders only: the first one whose slowest stage is fastest, and the evenest of those.
std::vector<std::vector<Stage>> straight_stages(const PlanRequest& request, bool replicate) {
  const TaskLine line(request, true);
  std::vector<std::vector<Stage>> tried;
  for (const bool even : {false, true}) {
    tried.push_back(balance(line, request.machine.workers(), Cutting::at_borders, replicate, even));
  }
  if (tried.front().empty()) {
    const int most =
        replicate ? request.network.size() * request.microbatches : request.network.size();
    too_many_workers(request, most, "one or more to every worker");
  }
  return tried;
}

/// The plans that fit into memory and are nearly as fast as the fastest of them.
class Choice {
 public:
  explicit Choice(std::int64_t cap) : cap_(cap) {}

  void offer(Made made) {
    least_ = least_ == 0 ? made.memory : std::min(least_, made.memory);
    if (cap_ > 0 && made.memory > cap_) return;
    if (!near_.empty() && made.seconds > kNearly * fastest_) return;
    fastest_ = near_.empty() ? made.seconds : std::min(fastest_, made.seconds);
    near_.push_back(std::move(made));
    std::erase_if(near_, [&](const Made& one) { return one.seconds > kNearly * fastest_; });
  }
  bool empty() const { return near_.empty(); }
  std::int64_t least_memory() const { return least_; }

  /// After tightening, of those that are nearly as fast the one whose weights are least old; of
  /// equals the thriftiest.
  Made take(const CostModel& cost) {
    constexpr std::size_t kTightened = 12;
    const auto rank = [](const Made& made) { return std::pair(made.delay, made.memory); };
    std::ranges::stable_sort(near_, {}, rank);
    if (near_.front().plan.depth() > 0) {
      near_.resize(std::min(near_.size(), kTightened));
      for (Made& made : near_) {
        made.seconds = pipeline::tighten(made.plan, cost);
        made.delay = std::ranges::max(staleness(made.plan));
      }
      fastest_ = std::ranges::min_element(near_, {}, &Made::seconds)->seconds;
      std::erase_if(near_, [&](const Made& one) { return one.seconds > kNearly * fastest_; });
    }
    return std::move(*std::ranges::min_element(near_, {}, rank));
  }

 private:
  static constexpr double kNearly = 1.001;
  std::int64_t cap_;
  std::int64_t least_ = 0;
  double fastest_ = 0;
  std::vector<Made> near_;
};

/// From a stage's workers and those behind it, and the number of the stage's own replicas.
using StageLimit = std::function<int(int workers, int replicas)>;

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

int one_forward_one_backward(int workers, int replicas) {
  return (workers + replicas - 1) / replicas;
}

Made straight_made(const PlanRequest& request, const Recipe& recipe, const StageLimit& in_flight,
                   const StageLimit& open = {}) {
  const int workers = request.machine.workers();
  Choice choice(0);
  for (const std::vector<Stage>& stages : straight_stages(request, recipe.replicate)) {
    Candidate candidate{.stages = stages, .in_flight = stage_limits(stages, workers, in_flight)};
    if (open) candidate.open = stage_limits(stages, workers, open);
    choice.offer(make(request, recipe, candidate));
    if (recipe.first_cut) break;
    if (recipe.urgency != Urgency::in_turn) continue;
    Recipe other = recipe;
    other.urgency = Urgency::fused;  // sometimes a backward that is there should be taken
    choice.offer(make(request, other, candidate));
    if (!recipe.replicate) continue;
    for (int& limit : candidate.in_flight) ++limit;  // replicas of one microbatch wait for messages
    choice.offer(make(request, recipe, candidate));
    choice.offer(make(request, other, candidate));
  }
  return choice.take(*request.cost);
}

Plan straight(const PlanRequest& request, const Recipe& recipe, const StageLimit& in_flight,
              const StageLimit& open = {}) {
  return straight_made(Ground(request).request(), recipe, in_flight, open).plan;
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
    for (const NetworkBlock& block : request.network.blocks) {
      most += block.parameters > 0 ? 2 + request.microbatches : 1;
    }
    too_many_workers(request, most, "whole or in three tasks");
  }
  return tried;
}

/// Limits of microbatches in flight, the thriftiest first.
std::vector<std::vector<int>> layerpipe_limits(const PlanRequest& request) {
  const bool asynchronous = request.pipeline.asynchronous;
  if (request.pipeline.in_flight > 0) {
    return {limits(request, asynchronous, [&](int) { return request.pipeline.in_flight; })};
  }
  std::vector<std::vector<int>> tried;
  for (const double factor : {0.5, 1.0, 1.5, 2.0, 3.0}) {
    tried.push_back(limits(request, asynchronous, [&](int worker) {
      return std::ceil(factor * (request.machine.workers() - worker)) + (factor > 1 ? 1 : 0);
    }));
  }
  if (!asynchronous) tried.push_back(limits(request, false, [](int) { return kUnlimited; }));
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

/// What the pipelines with a fused backward come to: LayerPipe is never slower.
void offer_fused(const PlanRequest& request, Recipe recipe, Choice& choice) {
  recipe.urgency = Urgency::in_turn;
  recipe.fused = true;
  for (const bool replicate : {false, true}) {
    recipe.replicate = replicate;
    const int most = request.network.size() * (replicate ? request.microbatches : 1);
    const bool possible =
        (!replicate || request.pipeline.replicate) && request.machine.workers() <= most;
    if (possible) choice.offer(straight_made(request, recipe, one_forward_one_backward));
  }
}

[[noreturn]] void refuse_memory(const PlanRequest& request, std::int64_t least) {
  constexpr std::int64_t mib = 1 << 20;
  const std::int64_t needed = (least + mib - 1) / mib;
  user_error(
      "--memory-per-worker {} is too small for {} with --batch {} in {} microbatches on {} "
      "workers: the thriftiest plan needs {}; use --memory-per-worker {}, a smaller batch or more "
      "workers",
      request.machine.memory_per_worker / mib, request.network.name, request.batch,
      request.microbatches, request.machine.workers(), needed, needed);
}

}  // namespace

Plan make_layerpipe_plan(const PlanRequest& given) {
  const Ground ground(given);
  const PlanRequest& request = ground.request();
  Recipe recipe{.name = "layerpipe", .asynchronous = request.pipeline.asynchronous};
  Choice choice(request.machine.memory_per_worker);
  for (const std::vector<Stage>& stages : layerpipe_stages(request)) {
    for (const std::vector<int>& in_flight : layerpipe_limits(request)) {
      for (const Urgency urgency : layerpipe_urgencies(request)) {
        recipe.urgency = urgency;
        for (int sample = 0; sample < samples_to_try(request); ++sample) {
          choice.offer(
              make(request, recipe, {.stages = stages, .in_flight = in_flight, .sample = sample}));
        }
      }
    }
  }
  recipe.urgency = Urgency::in_turn;
  offer_fused(request, recipe, choice);
  if (choice.empty()) refuse_memory(request, choice.least_memory());
  return choice.take(*request.cost).plan;
}

Plan make_gpipe_plan(const PlanRequest& request) {
  return straight(
      request,
      {.name = "gpipe", .urgency = Urgency::all_forwards, .fused = true, .first_cut = true},
      [&](int, int) { return request.microbatches; });
}

Plan make_1f1b_plan(const PlanRequest& request) {
  return straight(request,
                  {.name = "1f1b", .urgency = Urgency::fused, .fused = true, .first_cut = true},
                  one_forward_one_backward);
}

Plan make_pipedream_plan(const PlanRequest& request) {
  return straight(request, {.name = "pipedream", .asynchronous = true, .fused = true},
                  one_forward_one_backward);
}

Plan make_pipedream_replicated_plan(const PlanRequest& request) {
  return straight(
      request,
      {.name = "pipedream-replicated", .asynchronous = true, .replicate = true, .fused = true},
      one_forward_one_backward);
}

Plan make_pipedream_2bw_plan(const PlanRequest& request) {
  Plan plan = straight(request, {.name = "pipedream-2bw", .asynchronous = true, .fused = true},
                       one_forward_one_backward);
  if (const int delay = std::ranges::max(staleness(plan)); delay > 1) {
    std::int64_t enough = request.machine.workers();
    while (enough < request.batch && request.batch % enough != 0) ++enough;
    user_error(
        "--strategy pipedream-2bw keeps two versions of the weights, but with --microbatches {} on "
        "{} workers weights are {} updates old: use {}",
        request.microbatches, request.machine.workers(), delay,
        enough <= request.batch ? fmt::format("--microbatches {}", enough)
                                : fmt::format("at most {} workers", request.batch));
  }
  for (Program& program : plan.programs) {
    for (Task& task : program.tasks) {
      const bool reads = task.kind == TaskKind::forward || task.kind == TaskKind::backward_data;
      if (reads && plan.network.blocks[static_cast<std::size_t>(task.block)].parameters > 0) {
        task.delay = 1;
      }
    }
  }
  return plan;
}

Plan make_zb_h1_plan(const PlanRequest& request) {
  const int all = request.machine.workers();
  return straight(
      request, {.name = "zb-h1", .urgency = Urgency::backward_first}, [=](int, int) { return all; },
      one_forward_one_backward);
}

Plan make_zb_h2_plan(const PlanRequest& request) {
  const int all = request.machine.workers();
  return straight(
      request, {.name = "zb-h2", .urgency = Urgency::backward_first},
      [=](int, int) { return 2 * all; }, [](int workers, int) { return 2 * workers - 1; });
}

}  // namespace plait
