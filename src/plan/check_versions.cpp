// Tasks read weights that are there: the version their delay names has been made on their worker,
// by its own update or by one that was sent.
#include <fmt/format.h>

#include <algorithm>

#include "plan/check_parts.hpp"
#include "plan/version_tasks.hpp"
#include "plan/versions.hpp"

namespace plait::planning {

void check_versions(const Plan& plan, FaultList& faults) {
  const std::vector<int> owner = owners(plan);
  std::vector<int> maker(plan.network.blocks.size());
  for (int worker = 0; worker < plan.workers(); ++worker) {
    const std::vector<Task>& tasks = plan.programs[static_cast<std::size_t>(worker)].tasks;
    std::ranges::fill(maker, -1);
    for (int i = 0; i < static_cast<int>(tasks.size()); ++i) {
      const Task& task = tasks[static_cast<std::size_t>(i)];
      if (!makes_version(task)) continue;
      int& made = maker[static_cast<std::size_t>(task.block)];
      if (made >= 0) {
        faults.add(worker, i, fmt::format("task {} makes the weights in the same step", made));
      }
      made = i;
    }
    for (int i = 0; i < static_cast<int>(tasks.size()); ++i) {
      const Task& task = tasks[static_cast<std::size_t>(i)];
      if (!reads_version(plan, task)) continue;
      const auto block = static_cast<std::size_t>(task.block);
      if (maker[block] < 0) {
        if (owner[block] < 0) continue;  // nobody trains it
        faults.add(worker, i,
                   fmt::format("reads weights that worker {} updates and nobody sends here",
                               owner[block]));
        continue;
      }
      const Task& made = tasks[static_cast<std::size_t>(maker[block])];
      if (made.every != 1) continue;  // versions then are not those of single minibatches
      if (const int newest = newest_delay(task, i, made, maker[block]); task.delay < newest) {
        faults.add(worker, i,
                   fmt::format("asks for weights {} updates old, but when it runs {} (task {}) is "
                               "{} updates behind",
                               task.delay, describe(plan, made), maker[block], newest));
      }
    }
  }
}

}  // namespace plait::planning
