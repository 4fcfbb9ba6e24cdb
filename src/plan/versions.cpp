// Counts the versions of weights that are alive, and finds the smallest delays that a plan can
// have.
#include "plan/versions.hpp"

#include <algorithm>

#include "plan/version_tasks.hpp"

namespace plait::plan {

namespace {

/// Position of the task that makes versions of each block; -1: none.
std::vector<int> makers(const Plan& plan, const std::vector<Task>& tasks) {
  std::vector<int> maker(plan.network.blocks.size(), -1);
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    if (makes_version(tasks[i]))
      maker[static_cast<std::size_t>(block_of(tasks[i]))] = static_cast<int>(i);
  }
  return maker;
}

}  // namespace

int newest_delay(const Task& read, int read_position, const Task& made, int made_position) {
  return made.when.offset - read.when.offset - (made_position < read_position ? 1 : 0);
}

std::vector<int> weight_versions(const Plan& plan, int worker) {
  const std::vector<Task>& tasks = plan.programs.at(static_cast<std::size_t>(worker)).tasks;
  const std::vector<int> maker = makers(plan, tasks);
  std::vector<int> versions(maker.size(), 0);
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    const Task& task = tasks[i];
    if (!reads_version(plan, task) && !makes_version(task)) continue;
    const auto block = static_cast<std::size_t>(plan.network.owner_of(block_of(task)));
    int needed = 1;
    if (reads_version(plan, task) && maker[block] >= 0) {
      const Task& made = tasks[static_cast<std::size_t>(maker[block])];
      needed +=
          delay_of(task).value_or(0) - newest_delay(task, static_cast<int>(i), made, maker[block]);
    }
    versions[block] = std::max(versions[block], needed);
  }
  return versions;
}

void set_least_delays(Plan& plan) {
  std::vector<int> delay(plan.network.blocks.size(), 0);
  const auto each_reader = [&](const auto& body) {
    for (Program& program : plan.programs) {
      const std::vector<int> maker = makers(plan, program.tasks);
      for (std::size_t i = 0; i < program.tasks.size(); ++i) {
        Task& task = program.tasks[i];
        if (!reads_version(plan, task)) continue;
        const auto block = static_cast<std::size_t>(plan.network.owner_of(block_of(task)));
        body(task, static_cast<int>(i),
             maker[block] < 0 ? nullptr : &program.tasks[static_cast<std::size_t>(maker[block])],
             maker[block]);
      }
    }
  };
  each_reader([&](const Task& task, int position, const Task* made, int made_position) {
    if (made == nullptr) return;
    int& of = delay[static_cast<std::size_t>(plan.network.owner_of(block_of(task)))];
    of = std::max(of, newest_delay(task, position, *made, made_position));
  });
  each_reader([&](Task& task, int, const Task*, int) {
    set_delay(task, delay[static_cast<std::size_t>(plan.network.owner_of(block_of(task)))]);
  });
}

}  // namespace plait::plan
