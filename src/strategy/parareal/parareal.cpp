#include "strategy/parareal/parareal.hpp"

#include <algorithm>
#include <optional>

#include "base/error.hpp"
#include "cost/analytic.hpp"
#include "simulate/simulate.hpp"
#include "strategy/parareal/programs.hpp"
#include "strategy/steps.hpp"

namespace plait {

namespace {

/// Numbers that fit together.
struct Shares {
  int pieces = 1;
  int replicas = 1;
  int workers = 1;  ///< of each replica
};

Shares shares_of(const PlanRequest& request, int pieces, int replicas) {
  const int workers = request.machine.workers();
  if (workers % replicas != 0) {
    user_error("--replicas {} do not share {} worker(s) evenly; use --workers {}", replicas,
               workers, std::max(1, workers / replicas) * replicas);
  }
  const Shares shares{.pieces = pieces, .replicas = replicas, .workers = workers / replicas};
  if (shares.workers > pieces) {
    user_error(
        "--workers {} are more than {} piece(s) x {} replica(s) can use: add --replicas {} or "
        "--pieces {}",
        request.machine.workers(), pieces, shares.replicas,
        std::max(1, request.machine.workers() / pieces), shares.workers);
  }
  return shares;
}

void check(const PlanRequest& request) {
  if (request.clip && request.machine.workers() > 1) {
    user_error(
        "--clip-norm needs the gradients of the whole network on every worker, and parareal has "
        "them on different ones: leave it away, or use data_parallel");
  }
}

void check_samples(const PlanRequest& request, const Shares& shares) {
  const std::int64_t parts = std::int64_t{shares.replicas} * request.microbatches;
  if (parts <= request.batch) return;
  user_error(
      "--batch {} has not enough samples for {} replica(s) x {} microbatches; use at least {}",
      request.batch, shares.replicas, request.microbatches, parts);
}

void check_sweeps(const PlanRequest& request, int pieces) {
  const int sweeps = request.tear.sweeps;
  if (sweeps < 1) user_error("--sweeps {}: there is at least 1", sweeps);
  if (sweeps <= pieces) return;
  user_error(
      "--sweeps {} are more than {} pieces: after {} sweeps the torn network is the serial one "
      "already",
      sweeps, pieces, pieces);
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
    if (request.cost == nullptr) counted_ = make_analytic_cost(request.network);
  }

  Plan plan(int pieces, int replicas) const {
    const Shares shares = shares_of(request_, pieces, replicas);
    check_samples(request_, shares);
    check_sweeps(request_, pieces);
    const std::int64_t parts = std::int64_t{shares.replicas} * request_.microbatches;
    const Tearing tearing =
        !request_.tear.cuts.empty()
            ? given_tearing()
            : tear(chain_, cost(),
                   {.pieces = pieces,
                    .coarse = request_.tear.coarse,
                    .samples = std::max<std::int64_t>(1, request_.batch / parts),
                    .overlapped = request_.microbatches > 1});
    TornNetwork torn = tear_network(chain_, tearing, request_.tear.sweeps);
    Plan plan = empty_plan("parareal", request_);
    plan.network = torn.network;
    write_programs(torn,
                   {.replicas = shares.replicas,
                    .workers = shares.workers,
                    .of = place(shares),
                    .half_wire = request_.tear.half_wire},
                   request_, plan);
    return plan;
  }

  /// The fastest one for the machine: a piece for every worker, in as many replicas as pay.
  Plan best() const {
    const int workers = request_.machine.workers();
    std::optional<Plan> best;
    double fewest = 0;
    std::string reason;
    for (int replicas = 1; replicas <= workers; ++replicas) {
      if (request_.tear.replicas > 0 && replicas != request_.tear.replicas) continue;
      if (workers % replicas != 0 || (workers / replicas < 2 && replicas > 1)) continue;
      try {
        Plan candidate = plan(std::max({2, workers / replicas, request_.tear.sweeps}), replicas);
        const double seconds =
            simulate(candidate, cost(),
                     {.minibatches = steady_minibatches(candidate), .keep_events = false})
                .step_seconds;
        if (best && seconds >= fewest) continue;
        best = std::move(candidate);
        fewest = seconds;
      } catch (const UserError& error) {
        if (reason.empty()) reason = error.what();
      }
    }
    if (best) return std::move(*best);
    if (reason.empty()) reason = "there is no way to share them by pieces and replicas";
    user_error("--pieces auto finds no tearing for {} worker(s): {}", workers, reason);
  }

 private:
  Tearing given_tearing() const {
    Tearing tearing{.first = {0}, .head = chain_.head(), .coarse = request_.tear.coarse};
    tearing.first.insert(tearing.first.end(), request_.tear.cuts.begin(), request_.tear.cuts.end());
    return tearing;
  }
  const CostModel& cost() const { return request_.cost != nullptr ? *request_.cost : *counted_; }

  const PlanRequest& request_;
  TornChain chain_;
  std::unique_ptr<CostModel> counted_;
};

}  // namespace

Plan make_parareal_plan(const PlanRequest& request) {
  const Planner planner(request);
  if (request.tear.pieces == kBestPieces) return planner.best();
  const int replicas = std::max(1, request.tear.replicas);
  if (!request.tear.cuts.empty()) {
    return planner.plan(static_cast<int>(request.tear.cuts.size()) + 1, replicas);
  }
  const int pieces = request.tear.pieces > 0
                         ? request.tear.pieces
                         : std::max({2, request.machine.workers() / replicas, request.tear.sweeps});
  return planner.plan(pieces, replicas);
}

}  // namespace plait
