// Runs the parts of the check in order (check_*.cpp), and turns what they found into one error.
#include "plan/check.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "plan/check_parts.hpp"
#include "plan/worker_memory.hpp"

namespace plait::plan {

namespace {

std::vector<std::string> wrong_tasks(const Plan& plan) {
  FaultList faults(plan);
  check_indices(plan, faults);
  if (!faults.empty()) return faults.take();
  for (int mode = 0; mode < plan.ways() && faults.empty(); ++mode) {
    faults.in_mode(mode);
    check_values(plan, mode, faults);
    check_updates(plan, mode, faults);
    check_complete(plan, mode, faults);
    check_versions(plan, mode, faults);
  }
  FaultList messages(plan);
  const MessageIndex index = check_messages(plan, messages);
  if (messages.empty()) check_order(plan, index, messages);
  for (std::string& line : messages.take()) faults.add(std::move(line));
  return faults.take();
}

/// Empty where it fits or where nobody knows how much there is.
std::string too_big(const Plan& plan) {
  if (plan.machine.memory_per_worker == 0) return "";
  std::int64_t most = 0;
  int worst = 0;
  int count = 0;
  // As if for one kind of machine: processes that plan together must refuse alike.
  const std::vector<std::int64_t> memories =
      estimate_memories(plan, {.images = tensor::Layout::blocked16});
  for (int worker = 0; worker < plan.workers(); ++worker) {
    const std::int64_t bytes = memories[static_cast<std::size_t>(worker)];
    if (bytes > plan.machine.memory_per_worker) ++count;
    if (bytes > most) worst = worker;
    most = std::max(most, bytes);
  }
  if (count == 0) return "";
  return fmt::format(
      "worker {} needs about {:.1f} MiB of memory but the machine has {:.1f} MiB for each{}; use a "
      "smaller batch, more microbatches or more workers",
      worst, static_cast<double>(most) / (1 << 20),
      static_cast<double>(plan.machine.memory_per_worker) / (1 << 20),
      count == 1 ? "" : fmt::format(" ({} of {} workers need more)", count, plan.workers()));
}

}  // namespace

std::vector<std::string> faults(const Plan& plan) {
  std::vector<std::string> lines = wrong_tasks(plan);
  if (!lines.empty()) return lines;
  if (std::string line = too_big(plan); !line.empty()) lines.push_back(std::move(line));
  return lines;
}

void check_plan(const Plan& plan) {
  const std::vector<std::string> lines = wrong_tasks(plan);
  if (!lines.empty()) {
    fail("the plan of strategy '{}' is wrong: {}{}", plan.strategy, lines.front(),
         lines.size() == 1 ? "" : fmt::format(" (the first of {} faults)", lines.size()));
  }
  if (const std::string line = too_big(plan); !line.empty()) {
    user_error("strategy '{}': {}", plan.strategy, line);
  }
}

}  // namespace plait::plan
