// Checks of the request, placement of pieces and replicas on workers, and the plan put together.
#include "strategy/parareal/parareal.hpp"

#include <algorithm>
#include <optional>

#include "base/error.hpp"
#include "cost/analytic.hpp"
#include "lower/lower.hpp"
#include "simulate/simulate.hpp"
#include "strategy/parareal/advice.hpp"
#include "strategy/parareal/piece_tasks.hpp"
#include "strategy/steps.hpp"

namespace plait::strategy {

namespace {

/// Why numbers do not fit together; make_parareal_plan() adds which ones do.
struct Refusal {
  std::string field;
  int value = 0;
  std::string reason;
};

/// Numbers that fit together.
struct Shares {
  int pieces = 1;
  int replicas = 1;
  int workers = 1;  ///< of each replica
};

Shares shares_of(const TearNumbers& asked) {
  if (asked.workers % asked.replicas != 0) {
    throw Refusal{"replicas", asked.replicas,
                  fmt::format("`replicas` {} do not share {} worker(s) evenly", asked.replicas,
                              asked.workers)};
  }
  const Shares shares{.pieces = asked.pieces,
                      .replicas = asked.replicas,
                      .workers = asked.workers / asked.replicas};
  if (shares.workers > shares.pieces) {
    throw Refusal{"workers", asked.workers,
                  fmt::format("`workers` {} are more than {} piece(s) x {} replica(s) can use",
                              asked.workers, asked.pieces, asked.replicas)};
  }
  return shares;
}

void check(const PlanRequest& request) {
  if (request.clip && request.machine.workers() > 1) {
    setting_error("clip_norm", "",
                  "needs the gradients of the whole network on every worker, but parareal "
                  "distributes them; leave it out, or use data_parallel");
  }
}

void check_samples(const PlanRequest& request, const Shares& shares) {
  const std::int64_t parts = std::int64_t{shares.replicas} * request.microbatches;
  if (parts <= request.batch) return;
  setting_error("batch", request.batch,
                "has too few samples for {} replica(s) x {} microbatches; use at least {}",
                shares.replicas, request.microbatches, parts);
}

void check_sweeps(const TearNumbers& asked) {
  if (asked.sweeps < 1) setting_error("sweeps", asked.sweeps, "must be at least 1");
  if (asked.sweeps <= asked.pieces) return;
  throw Refusal{
      "sweeps", asked.sweeps,
      fmt::format("`sweeps` {} are more than {} pieces: after {} sweeps the torn network already "
                  "equals the serial one",
                  asked.sweeps, asked.pieces, asked.pieces)};
}

/// What asks for so many pieces.
std::string origin(const TearNumbers& asked) {
  const int per_replica = asked.workers / asked.replicas;
  if (asked.pieces > 2 && asked.pieces == asked.sweeps && asked.sweeps > per_replica) {
    return fmt::format("`sweeps` {} need as many pieces", asked.sweeps);
  }
  if (asked.pieces > 2 && asked.pieces == per_replica) {
    return fmt::format("`pieces` {} (one per worker)", asked.pieces);
  }
  return fmt::format("`pieces` {}", asked.pieces);
}

/// Pieces in order on the workers, as many on each as on any other or one more.
std::vector<int> place(const Shares& shares) {
  std::vector<int> of;
  for (int piece = 0; piece < shares.pieces; ++piece) {
    of.push_back(piece * shares.workers / shares.pieces);
  }
  return of;
}

class Planner {
 public:
  explicit Planner(const PlanRequest& request) : request_(request), chain_(request.network) {
    check(request);
    if (request.cost == nullptr) counted_ = cost::make_analytic_cost(request.network);
  }

  TearNumbers asked(int pieces, int replicas) const {
    return {.workers = request_.machine.workers(),
            .pieces = pieces,
            .replicas = replicas,
            .sweeps = request_.tear.sweeps};
  }

  /// Throws Refusal, or UserError for what other numbers would not mend.
  plan::Plan plan(const TearNumbers& asked) const {
    const Shares shares = shares_of(asked);
    check_samples(request_, shares);
    check_sweeps(asked);
    const Tearing tearing =
        !request_.tear.cuts.empty() ? given_tearing() : torn(asked, request_.tear.coarse);
    TornNetwork torn = tear_network(chain_, tearing, request_.tear.sweeps);
    lower::Schedule schedule = empty_schedule("parareal", request_);
    schedule.plan.network = torn.network;
    schedule.half_messages = request_.tear.half_wire;
    list_pieces(torn, {.replicas = shares.replicas, .workers = shares.workers, .of = place(shares)},
                schedule);
    return lower::lower(std::move(schedule));
  }

  /// The fastest one for the machine: a piece for every worker, in as many replicas as pay.
  plan::Plan best() const {
    const int workers = request_.machine.workers();
    std::optional<plan::Plan> best;
    double fewest = 0;
    std::string reason;
    for (int replicas = 1; replicas <= workers; ++replicas) {
      if (request_.tear.replicas > 0 && replicas != request_.tear.replicas) continue;
      if (workers % replicas != 0 || (workers / replicas < 2 && replicas > 1)) continue;
      try {
        plan::Plan candidate =
            plan(asked(std::max({2, workers / replicas, request_.tear.sweeps}), replicas));
        const double seconds =
            simulate::simulate(
                candidate, cost(),
                {.minibatches = simulate::steady_minibatches(candidate), .keep_events = false})
                .step_seconds;
        if (best && seconds >= fewest) continue;
        best = std::move(candidate);
        fewest = seconds;
      } catch (const UserError& error) {
        if (reason.empty()) reason = error.what();
      } catch (const Refusal& refusal) {
        if (reason.empty()) reason = refusal.reason;
      }
    }
    if (best) return std::move(*best);
    if (reason.empty()) reason = "there is no way to share them by pieces and replicas";
    setting_error("pieces", "auto", "finds no valid split for {} worker(s): {}; {}", workers,
                  reason, advice(asked(std::max(2, workers), std::max(1, request_.tear.replicas))));
  }

  /// Numbers near these that work.
  std::string advice(const TearNumbers& asked) const {
    const CoarseKind kind = request_.tear.coarse;
    if (kind == CoarseKind::identity && works(asked, CoarseKind::block))
      return "use `coarse` block";
    return tear_advice(asked, most_pieces(chain_, kind),
                       [&](const TearNumbers& way) { return works(way, kind); });
  }

 private:
  TearOptions options(const TearNumbers& asked, CoarseKind kind) const {
    const std::int64_t parts = std::int64_t{asked.replicas} * request_.microbatches;
    return {.pieces = asked.pieces,
            .coarse = kind,
            .samples = std::max<std::int64_t>(1, request_.batch / parts),
            .overlapped = request_.microbatches > 1,
            .wanted = origin(asked)};
  }
  Tearing torn(const TearNumbers& asked, CoarseKind kind) const {
    const TearOptions how = options(asked, kind);
    try {
      return tear(chain_, cost(), how);
    } catch (const UserError&) {
      const auto reason = why_not_torn(chain_, cost(), how);
      if (!reason) throw;
      throw Refusal{"pieces", asked.pieces, *reason};
    }
  }
  /// With as many workers, whatever the machine has.
  bool works(const TearNumbers& way, CoarseKind kind) const {
    const int nodes = request_.machine.nodes;
    if (way.workers % nodes != 0 || way.workers < 1) return false;
    try {
      const Shares shares = shares_of(way);
      check_samples(request_, shares);
      check_sweeps(way);
      torn(way, kind);
    } catch (const UserError&) {
      return false;
    } catch (const Refusal&) {
      return false;
    }
    return true;
  }
  Tearing given_tearing() const {
    Tearing tearing{.first = {0}, .head = chain_.head(), .coarse = request_.tear.coarse};
    tearing.first.insert(tearing.first.end(), request_.tear.cuts.begin(), request_.tear.cuts.end());
    return tearing;
  }
  const cost::CostModel& cost() const {
    return request_.cost != nullptr ? *request_.cost : *counted_;
  }

  const PlanRequest& request_;
  TornChain chain_;
  std::unique_ptr<cost::CostModel> counted_;
};

}  // namespace

plan::Plan make_parareal_plan(const PlanRequest& request) {
  refuse_tied_weights(request.network, "parareal");
  const Planner planner(request);
  if (request.tear.pieces == kBestPieces) return planner.best();
  const int replicas = std::max(1, request.tear.replicas);
  int pieces = request.tear.pieces;
  if (pieces <= 0) {
    pieces = std::max({2, request.machine.workers() / replicas, request.tear.sweeps});
  }
  if (!request.tear.cuts.empty()) pieces = static_cast<int>(request.tear.cuts.size()) + 1;
  const TearNumbers asked = planner.asked(pieces, replicas);
  try {
    return planner.plan(asked);
  } catch (const Refusal& refusal) {
    throw UserError::about(refusal.field, fmt::format("{}", refusal.value),
                           fmt::format("{}; {}", refusal.reason, planner.advice(asked)));
  }
}

}  // namespace plait::strategy
