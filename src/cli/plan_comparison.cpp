// Makes and plays the plans; a strategy that is not possible gives its reason.
#include "cli/plan_comparison.hpp"

#include <fmt/ranges.h>

#include <algorithm>

#include "base/error.hpp"
#include "base/memory.hpp"
#include "base/text.hpp"
#include "cli/flag_text.hpp"
#include "cli/plan_options.hpp"
#include "session/row_partitioner.hpp"

namespace plait::cli {

namespace {

constexpr std::size_t kMostReasons = 3;

}  // namespace

Comparison::Comparison(const Arguments& arguments)
    : subject_(plan_subject(arguments)),
      machines_(plan_machines(arguments)),
      free_(available_memory_bytes()) {
  settings_ = plan_config(arguments, subject_.batch);
  subject_.batch = settings_.batch;
  const std::vector<std::string> names = wanted_strategies(arguments);
  for (const std::string& name : names) strategy::check_strategy(name, "strategies");
  settle_costs(subject_, arguments, machines_);
  const plan::Machine one{.inside = plan::kUsualInside, .between = plan::kUsualBetween};
  serial_seconds_ = play(plan_of("serial", one)).simulation.step_seconds;
  named_ = arguments.text("--strategies", "all") != "all";
  for (const std::string& name : names) compare(name, names.size() == 1);
  if (outcomes_.empty() && refused_.size() <= kMostReasons) {
    user_error("no plan is possible; {}", fmt::join(refused_, "; "));
  }
  if (outcomes_.empty()) {  // of all, the first is serial
    user_error("no plan is possible; {}; --strategies NAME says why of {} more", refused_[1],
               refused_.size() - 1);
  }
}

const planner::Outcome& Comparison::best() const {
  for (const planner::Outcome* one : planner::best_first(outcomes_)) {
    if (fits(*one)) return *one;
  }
  user_error("no plan fits into the {} that are free here", with_bytes(free_));
}

bool Comparison::fits(const planner::Outcome& one) const {
  const plan::Machine& machine = one.plan.machine;
  return free_ == 0 || machine.memory_per_worker > 0 ||
         one.peak_memory <= free_ / machine.workers_per_node;
}

trace::Trace Comparison::trace_of(const planner::Outcome& one) const {
  return simulate::simulate(one.plan, cost(),
                            {.minibatches = simulate::steady_minibatches(one.plan)})
      .trace;
}

trace::Trace Comparison::short_trace_of(const planner::Outcome& one) const {
  const std::int64_t depth = one.plan.depth();
  return simulate::simulate(one.plan, cost(), {.minibatches = depth == 0 ? 1 : depth + 6}).trace;
}

void Comparison::compare(const std::string& name, bool only) {
  std::string reason;
  bool possible = false;
  for (const plan::Machine& machine : machines_) {
    try {
      outcomes_.push_back(play(plan_of(name, machine)));
      possible = true;
    } catch (const UserError& error) {
      if (reason.empty()) reason = with_flags(error.what());
    }
  }
  if (only && !possible) user_error("{}", reason);
  if (!reason.empty() && (named_ || !possible)) {
    refused_.push_back(fmt::format("{}: {}", name, reason));
  }
}

strategy::RowPartitioner Comparison::row_partitioner_of() const {
  strategy::RowPartitioner partition =
      session::row_partitioner(settings_.partition, settings_.seed);
  return named_ ? partition : session::in_seconds(std::move(partition), machines_.size());
}

plan::Plan Comparison::plan_of(const std::string& strategy, const plan::Machine& machine) {
  planner::PlanSettings settings = settings_;
  settings.strategy = strategy;
  return subject_.costs->plan([&](const cost::CostModel& cost) {
    return planner::plan_with(settings, {.network = subject_.network,
                                         .machine = machine,
                                         .cost = &cost,
                                         .optimizer_states = optim::optimizer_states(settings_),
                                         .clip = settings_.clip_norm > 0,
                                         .partition = row_partitioner_of()});
  });
}

}  // namespace plait::cli
