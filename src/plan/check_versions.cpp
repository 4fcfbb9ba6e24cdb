// Tasks read weights that are there: the version their delay names has been made on their worker,
// by its own update or by one that was sent.
#include <fmt/format.h>

#include "plan/check_parts.hpp"
#include "plan/version_tasks.hpp"
#include "plan/versions.hpp"

namespace plait::plan {

namespace {

/// Position of the task that makes versions of each block on this worker; -1: none.
std::vector<int> find_makers(const Plan& plan, int worker, int mode, FaultList& faults) {
  std::vector<int> maker(plan.network.blocks.size(), -1);
  const std::vector<Task>& tasks = plan.programs[static_cast<std::size_t>(worker)].tasks;
  for (int i = 0; i < static_cast<int>(tasks.size()); ++i) {
    const Task& task = tasks[static_cast<std::size_t>(i)];
    if (!makes_version(task) || !runs_in(task.when, mode)) continue;
    int& made = maker[static_cast<std::size_t>(block_of(task))];
    if (made >= 0) {
      faults.add(worker, i, fmt::format("task {} makes the weights in the same step", made));
    }
    made = i;
  }
  return maker;
}

/// Empty where the task finds what it asks for. `maker` is -1 or a position.
std::string missing_version(const Plan& plan, const std::vector<Task>& tasks, int reader, int maker,
                            int owner) {
  const Task& task = tasks[static_cast<std::size_t>(reader)];
  if (maker < 0) {
    if (owner < 0) return "";  // nobody trains it
    return fmt::format("reads weights that worker {} updates and nobody sends here", owner);
  }
  const Task& made = tasks[static_cast<std::size_t>(maker)];
  if (made.when.every != 1) return "";  // versions then are not those of single minibatches
  const int newest = newest_delay(task, reader, made, maker);
  const int delay = delay_of(task).value_or(0);
  if (delay >= newest) return "";
  return fmt::format(
      "asks for weights {} updates old, but when it runs {} (task {}) is {} updates behind", delay,
      describe(plan, made), maker, newest);
}

}  // namespace

void check_versions(const Plan& plan, int mode, FaultList& faults) {
  std::vector<int> owner;  // asked for in plans that are wrong, or where nobody trains
  faults.each_worker([&](int worker) {
    const std::vector<int> maker = find_makers(plan, worker, mode, faults);
    const std::vector<Task>& tasks = plan.programs[static_cast<std::size_t>(worker)].tasks;
    for (int i = 0; i < static_cast<int>(tasks.size()); ++i) {
      const Task& task = tasks[static_cast<std::size_t>(i)];
      if (!reads_version(plan, task) || !runs_in(task.when, mode)) continue;
      const auto block = static_cast<std::size_t>(plan.network.owner_of(block_of(task)));
      if (maker[block] < 0 && owner.empty()) owner = owners(plan);
      const std::string what =
          missing_version(plan, tasks, i, maker[block], owner.empty() ? -1 : owner[block]);
      if (!what.empty()) faults.add(worker, i, what);
    }
  });
}

}  // namespace plait::plan
