#include "cli/plan_advice.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"

namespace plait {

namespace {

constexpr double kWorthSaying = 0.05;  // of a step

std::string where(const Outcome& one) {
  const int workers = one.plan.workers();
  return fmt::format("{} on {} worker{}", one.plan.strategy, workers, workers == 1 ? "" : "s");
}

bool is_faster(const Outcome* a, const Outcome* b) {
  return b == nullptr || a->simulation.step_seconds < b->simulation.step_seconds;
}

const Outcome* fastest(const std::vector<Outcome>& outcomes, auto&& wanted) {
  const Outcome* best = nullptr;
  for (const Outcome& one : outcomes) {
    if (wanted(one) && is_faster(&one, best)) best = &one;
  }
  return best;
}

/// Share of the step that links cost: what is gone where they take no time.
double share_of_links(const Outcome& outcome, const CostModel& cost) {
  if (outcome.plan.workers() == 1) return 0;
  Plan free = outcome.plan;
  free.machine.inside = free.machine.between = {};
  const Simulation played =
      simulate(free, cost, {.minibatches = steady_minibatches(free), .keep_events = false});
  return 1 - played.step_seconds / outcome.simulation.step_seconds;
}

/// Whether workers hand each other parts of a minibatch, which could be smaller.
bool passes_on(const Plan& plan) {
  return std::ranges::any_of(plan.programs, [](const Program& program) {
    return std::ranges::find(program.tasks, TaskKind::send, &Task::kind) != program.tasks.end();
  });
}

/// Only what speaks for the best one.
std::string compared(const Outcome& best, const Outcome& next) {
  const double longer = next.simulation.step_seconds / best.simulation.step_seconds - 1;
  const std::int64_t bytes = next.simulation.bytes_per_step;
  const std::string sends = fmt::format("it sends {} a step instead of {}", with_bytes(bytes),
                                        with_bytes(best.simulation.bytes_per_step));
  const bool sends_more = bytes > best.simulation.bytes_per_step;
  if (longer < 0.01) {
    return fmt::format("{}, the next, is as fast, {} {}", next.plan.strategy,
                       sends_more ? "but" : "and", sends);
  }
  std::string reasons;
  if (next.simulation.utilisation < best.simulation.utilisation) {
    reasons = fmt::format(": its workers compute {:.0f}% of the time instead of {:.0f}%",
                          100 * next.simulation.utilisation, 100 * best.simulation.utilisation);
  }
  if (sends_more) reasons += (reasons.empty() ? ": " : ", and ") + sends;
  if (reasons.empty()) reasons = ": it computes more";
  return fmt::format("{}, the next, takes {:.0f}% longer{}", next.plan.strategy, 100 * longer,
                     reasons);
}

}  // namespace

std::string what_it_changes(const Plan& plan) {
  const int late = std::ranges::max(staleness(plan));
  if (late > 0) return fmt::format("reads weights up to {} update(s) late", late);
  const bool meets = std::ranges::any_of(
      plan.buckets, [](const Bucket& bucket) { return bucket.payload == Payload::weights; });
  if (meets) return "lets nodes have weights of their own between exchanges";
  if (std::ranges::any_of(plan.network.blocks, &NetworkBlock::added)) {
    return "trains a torn network, with parts of its own";
  }
  return "";
}

std::string what_limits(const Outcome& outcome, const CostModel& cost) {
  const std::int64_t memory = outcome.plan.machine.memory_per_worker;
  const double links = share_of_links(outcome, cost);
  const double busiest = std::ranges::max(outcome.simulation.busy);
  const double mean = outcome.simulation.utilisation;
  std::string text;
  if (links > kWorthSaying) {
    text = fmt::format("bytes: with links that take no time a step would be {:.0f}% shorter",
                       100 * links);
  } else if (busiest - mean > kWorthSaying) {
    text = fmt::format(
        "balance: the busiest worker computes {:.0f}% of the time, the mean one "
        "{:.0f}%",
        100 * busiest, 100 * mean);
  } else if (mean < 1 - kWorthSaying) {
    text = fmt::format(
        "order: workers wait {:.0f}% of the time for what others have not finished{}",
        100 * (1 - mean), passes_on(outcome.plan) ? "; more microbatches may help" : "");
  } else {
    text = "compute: all workers are busy";
  }
  if (memory > 0 && static_cast<double>(outcome.peak_memory) > 0.9 * static_cast<double>(memory)) {
    text += fmt::format("; memory: {} of {} are used", with_bytes(outcome.peak_memory),
                        with_bytes(memory));
  }
  return text;
}

std::string plan_advice(const std::vector<Outcome>& outcomes, const CostModel& cost) {
  const Outcome* best = fastest(outcomes, [](const Outcome&) { return true; });
  if (best == nullptr || outcomes.size() < 2) return "";
  std::string text = fmt::format("best: {}, {:.2f}x of one worker{}\n", where(*best), best->speedup,
                                 best->speedup < 1 ? ", which is faster alone" : "");
  const Outcome* next = fastest(outcomes, [&](const Outcome& one) {
    return one.plan.workers() == best->plan.workers() && one.plan.strategy != best->plan.strategy;
  });
  if (next != nullptr) text += fmt::format("  why: {}\n", compared(*best, *next));
  text += fmt::format("  limited by {}\n", what_limits(*best, cost));
  const std::string change = what_it_changes(best->plan);
  if (change.empty()) return text;
  text += fmt::format("  it {}: compare accuracy before you rely on it\n", change);
  const Outcome* plain =
      fastest(outcomes, [](const Outcome& one) { return what_it_changes(one.plan).empty(); });
  if (plain != nullptr) {
    text += fmt::format("best that is plain SGD: {}, {:.2f}x; limited by {}\n", where(*plain),
                        plain->speedup, what_limits(*plain, cost));
  }
  return text;
}

}  // namespace plait
