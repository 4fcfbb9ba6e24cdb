// Compares the outcomes of a plan request: the winner, what separates it from the next, and what
// bounds its step.
#include "planner/advice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "base/text.hpp"

namespace plait::planner {

namespace {

constexpr double kWorthSaying = 0.05;  // of a step
constexpr double kTie = 0.03;          // of a step

std::string where(const Outcome& one) {
  const int workers = one.plan.workers();
  return fmt::format("{} on {} worker{}", one.plan.strategy, workers, workers == 1 ? "" : "s");
}

/// The first of these that is wanted; null where none is.
const Outcome* first_of(const std::vector<const Outcome*>& ranked, auto&& wanted) {
  const auto found = std::ranges::find_if(ranked, [&](const Outcome* one) { return wanted(*one); });
  return found == ranked.end() ? nullptr : *found;
}

/// Share of the step that links cost: what is gone where they take no time.
double share_of_links(const Outcome& outcome, const cost::CostModel& cost) {
  if (outcome.plan.workers() == 1) return 0;
  plan::Plan free = outcome.plan;
  free.machine.inside = free.machine.between = {};
  const simulate::Simulation played = simulate::simulate(
      free, cost, {.minibatches = simulate::steady_minibatches(free), .keep_events = false});
  return 1 - played.step_seconds / outcome.simulation.step_seconds;
}

/// Whether workers hand each other parts of a minibatch, which could be smaller.
bool passes_on(const plan::Plan& plan) {
  return std::ranges::any_of(plan.programs, [](const plan::Program& program) {
    return std::ranges::any_of(program.tasks, plan::is<plan::Send>);
  });
}

/// What tells two plans apart that are as fast as each other.
std::string difference(const Outcome& best, const Outcome& next) {
  const std::string change = what_it_changes(next.plan);
  if (!change.empty() && change != what_it_changes(best.plan)) return ", but it " + change;
  const std::int64_t bytes = next.simulation.bytes_per_step;
  const std::string sends = with_bytes(bytes);
  const std::string instead = with_bytes(best.simulation.bytes_per_step);
  if (sends == instead) return "";
  return fmt::format(", {} it sends {} a step instead of {}",
                     bytes > best.simulation.bytes_per_step ? "but" : "and", sends, instead);
}

}  // namespace

/// Only what speaks for the best one.
std::string comparison(const Outcome& best, const Outcome& next) {
  const double longer = next.simulation.step_seconds / best.simulation.step_seconds - 1;
  if (longer < kTie) {
    return fmt::format("{}, the next, is as fast{}", next.plan.strategy, difference(best, next));
  }
  const std::string sends = with_bytes(next.simulation.bytes_per_step);
  const std::string instead = with_bytes(best.simulation.bytes_per_step);
  std::string reasons;
  if (next.simulation.utilisation < best.simulation.utilisation) {
    reasons = fmt::format(": its workers compute {:.0f}% of the time instead of {:.0f}%",
                          100 * next.simulation.utilisation, 100 * best.simulation.utilisation);
  }
  if (next.simulation.bytes_per_step > best.simulation.bytes_per_step && sends != instead) {
    reasons += fmt::format("{}it sends {} a step instead of {}", reasons.empty() ? ": " : ", and ",
                           sends, instead);
  }
  if (reasons.empty()) reasons = ": it computes more";
  return fmt::format("{}, the next, takes {:.0f}% longer{}", next.plan.strategy, 100 * longer,
                     reasons);
}

std::string what_it_changes(const plan::Plan& plan) {
  const int late = std::ranges::max(plan::staleness(plan));
  if (late > 0) return fmt::format("reads weights up to {} update(s) late", late);
  const bool meets = std::ranges::any_of(plan.buckets, [](const plan::Bucket& bucket) {
    return bucket.payload == plan::Payload::weights;
  });
  if (meets) return "lets nodes have weights of their own between exchanges";
  if (std::ranges::any_of(plan.network.blocks, &plan::NetworkBlock::added)) {
    return "trains a torn network, with parts of its own";
  }
  return "";
}

std::string what_limits(const Outcome& outcome, const cost::CostModel& cost) {
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

bool is_data_parallel(const plan::Plan& plan) {
  if (plan.workers() < 2 || std::ranges::any_of(plan.network.blocks, &plan::NetworkBlock::added)) {
    return false;
  }
  return std::ranges::all_of(plan.programs, [&](const plan::Program& program) {
    std::vector<bool> runs(plan.network.blocks.size(), false);
    for (const plan::Task& task : program.tasks) {
      if (plan::is<plan::Send>(task)) return false;
      if (plan::is<plan::Forward>(task))
        runs[static_cast<std::size_t>(plan::block_of(task))] = true;
    }
    return std::ranges::find(runs, false) == runs.end();
  });
}

std::vector<const Outcome*> best_first(const std::vector<Outcome>& outcomes) {
  std::vector<const Outcome*> all;
  for (const Outcome& one : outcomes) all.push_back(&one);
  return best_first(std::move(all));
}

std::vector<const Outcome*> best_first(std::vector<const Outcome*> ranked) {
  const auto seconds = [](const Outcome* one) { return one->simulation.step_seconds; };
  std::ranges::stable_sort(ranked, {}, seconds);
  const auto rank = [&](const Outcome* one) {
    return std::tuple(!what_it_changes(one->plan).empty(), one->staleness,
                      one->simulation.bytes_per_step, seconds(one));
  };
  for (auto first = ranked.begin(); first != ranked.end();) {
    const double most = (1 + kTie) * seconds(*first);
    const auto last =
        std::find_if(first, ranked.end(), [&](const Outcome* one) { return seconds(one) > most; });
    std::stable_sort(first, last,
                     [&](const Outcome* a, const Outcome* b) { return rank(a) < rank(b); });
    first = last;
  }
  return ranked;
}

std::string folded(const std::string& text) {
  constexpr std::size_t kColumns = 80;
  const std::string indent(text.starts_with(' ') ? 4 : 2, ' ');
  std::string result;
  std::string line;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(' ', begin + 1), text.size());
    const std::string word = text.substr(begin, end - begin);
    if (!line.empty() && line.size() + word.size() > kColumns) {
      result += line + "\n";
      line = indent + word.substr(word.find_first_not_of(' '));
    } else {
      line += word;
    }
    begin = end;
  }
  return result + line + "\n";
}

std::string plan_advice(const std::vector<const Outcome*>& ranked, const cost::CostModel& cost) {
  if (ranked.size() < 2) return "";
  const Outcome& best = *ranked.front();
  std::string text =
      folded(fmt::format("best: {}, {:.2f}x of one worker{}", where(best), best.speedup,
                         best.speedup < 1 ? ", which is faster alone" : ""));
  const Outcome* next = first_of(ranked, [&](const Outcome& one) {
    return one.plan.workers() == best.plan.workers() && one.plan.strategy != best.plan.strategy;
  });
  if (next != nullptr) text += folded(fmt::format("  why: {}", comparison(best, *next)));
  text += folded(fmt::format("  limited by {}", what_limits(best, cost)));
  const std::string change = what_it_changes(best.plan);
  if (change.empty()) return text;
  text += folded(fmt::format("  it {}: compare accuracy before you rely on it", change));
  const Outcome* plain =
      first_of(ranked, [](const Outcome& one) { return what_it_changes(one.plan).empty(); });
  if (plain != nullptr) {
    text += folded(fmt::format("best that is plain SGD: {}, {:.2f}x; limited by {}", where(*plain),
                               plain->speedup, what_limits(*plain, cost)));
  }
  return text;
}

}  // namespace plait::planner
