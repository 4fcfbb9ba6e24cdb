// Who holds which weights in a plan, and when these are ready to leave.
#include <algorithm>

#include "lower/exchanges.hpp"

namespace plait::lower {

namespace {

template <class Is>
std::vector<int> workers_with(const plan::Plan& plan, const Is& is) {
  std::vector<int> workers;
  for (int w = 0; w < plan.workers(); ++w) {
    if (std::ranges::any_of(plan.programs[static_cast<std::size_t>(w)].tasks, is)) {
      workers.push_back(w);
    }
  }
  return workers;
}

}  // namespace

std::vector<int> updaters(const plan::Plan& plan, int block) {
  return workers_with(
      plan, [&](const plan::Task& task) { return task.what == plan::What(plan::Update{block}); });
}

std::vector<int> state_movers(const plan::Plan& plan, int block) {
  return workers_with(plan, [&](const plan::Task& task) {
    const auto* forward = std::get_if<plan::Forward>(&task.what);
    return forward != nullptr && forward->block == block && forward->moves_state;
  });
}

std::vector<Held> held_together(const plan::Plan& plan) {
  std::vector<Held> all;
  for (int block = 0; block < plan.network.size(); ++block) {
    const plan::NetworkBlock& of = plan.network.blocks[static_cast<std::size_t>(block)];
    if (of.repeats >= 0 || (of.parameters == 0 && of.state == 0)) continue;
    std::vector<int> places = updaters(plan, block);
    if (places.empty() && of.state > 0) places = state_movers(plan, block);
    if (places.empty()) continue;  // nobody computes it
    const auto found = std::ranges::find(all, places, &Held::places);
    if (found == all.end()) {
      all.push_back({std::move(places), {block}});
    } else {
      found->blocks.push_back(block);
    }
  }
  return all;
}

std::vector<plan::Task> with_early_updates(const plan::Network& network,
                                           const std::vector<plan::Task>& tasks) {
  const auto comes_first = [](const plan::Task& task) {
    return plan::is<plan::Reduce>(task) || plan::is<plan::Clip>(task);
  };
  if (std::ranges::any_of(tasks, comes_first)) return tasks;
  std::vector<std::size_t> last(network.blocks.size(), 0);
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    if (!plan::is<plan::BackwardData>(tasks[i]) && !plan::is<plan::BackwardWeights>(tasks[i]))
      continue;
    last[static_cast<std::size_t>(network.home_of(plan::block_of(tasks[i])))] = i;
  }
  std::vector<std::vector<plan::Task>> behind(tasks.size());
  for (const plan::Task& task : tasks) {
    if (!plan::is<plan::Update>(task)) continue;
    behind[last[static_cast<std::size_t>(plan::block_of(task))]].push_back(task);
  }
  std::vector<plan::Task> early;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    if (!plan::is<plan::Update>(tasks[i])) early.push_back(tasks[i]);
    early.insert(early.end(), behind[i].begin(), behind[i].end());
  }
  return early;
}

}  // namespace plait::lower
