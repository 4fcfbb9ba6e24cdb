// The checks and the exchanges of daso, local_sgd and diloco.
#include "strategy/replicas/replicas.hpp"

#include "base/error.hpp"
#include "lower/exchanges.hpp"
#include "strategy/replicas/inside_node.hpp"

namespace plait::strategy {

namespace {

void check(const std::string& name, const PlanRequest& request) {
  const plan::Machine& machine = request.machine;
  if (machine.nodes < 2) {
    user_error(
        "{} exchanges weights between nodes, but there is only one; add `nodes` 2 "
        "(simulated by threads), "
        "or start it with mpirun on several nodes, or use data_parallel",
        name);
  }
  const std::int64_t parts = std::int64_t{machine.workers()} * request.microbatches;
  if (parts <= request.batch) return;
  setting_error("batch", request.batch,
                "has too few samples for {} workers x {} "
                "microbatches; use at least {}",
                machine.workers(), request.microbatches, parts);
}

/// The inner strategy's plan on every node, with these exchanges.
plan::Plan exchanging_plan(const std::string& name, const PlanRequest& request,
                           const std::vector<ExchangeMode>& modes) {
  const ExchangeRequest& exchange = request.exchange;
  lower::ExchangeSchedule schedule{.node = inner_plan(name, request),
                                   .machine = request.machine,
                                   .batch = request.batch,
                                   .half = exchange.half,
                                   .bucket_bytes = request.bucket_bytes};
  for (const ExchangeMode& mode : modes) {
    plan::Merge merge{.kind = mode.merge, .steps = mode.wait};
    if (mode.merge == plan::MergeKind::outer) {
      const OuterSettings outer = outer_settings(exchange);
      merge.rate = outer.rate;
      merge.momentum = outer.momentum;
    }
    schedule.ways.push_back({.name = mode.name(), .every = mode.every, .merge = merge});
  }
  plan::Plan plan = lower::with_exchanges(schedule);
  plan.strategy = name;
  return plan;
}

plan::Plan blocking_plan(const std::string& name, const PlanRequest& request,
                         plan::MergeKind merge) {
  check(name, request);
  if (request.exchange.local_steps < 1) {
    setting_error("local_steps", request.exchange.local_steps, "must be at least 1");
  }
  return exchanging_plan(name, request,
                         {{.every = request.exchange.local_steps, .wait = 0, .merge = merge}});
}

}  // namespace

plan::Plan make_daso_plan(const PlanRequest& request) {
  check("daso", request);
  const ExchangeRequest& exchange = request.exchange;
  if (exchange.every < 2 || exchange.wait < 1) {
    setting_error(
        "exchange_every", exchange.every,
        "`exchange_wait` {}: an exchange is merged 1 or more steps later and "
        "before the next one begins; use at least `exchange_every` 2 and `exchange_wait` 1",
        exchange.wait);
  }
  if (exchange.most < exchange.every) {
    setting_error("exchange_every", exchange.every,
                  "is above `exchange_most` {}; add `exchange_most` {}", exchange.most,
                  exchange.every);
  }
  if (exchange.wait >= exchange.every) {
    setting_error(
        "exchange_wait", exchange.wait,
        "is not below `exchange_every` {}: an "
        "exchange is merged before the next "
        "one begins; use `exchange_wait` {}, or `exchange_every` {}{}",
        exchange.every, exchange.every - 1, exchange.wait + 1,
        exchange.wait < exchange.most ? "" : fmt::format(" `exchange_most` {}", exchange.wait + 1));
  }
  return exchanging_plan("daso", request, daso_modes(exchange));
}

plan::Plan make_local_sgd_plan(const PlanRequest& request) {
  return blocking_plan("local_sgd", request, plan::MergeKind::average);
}

plan::Plan make_diloco_plan(const PlanRequest& request) {
  return blocking_plan("diloco", request, plan::MergeKind::outer);
}

}  // namespace plait::strategy
