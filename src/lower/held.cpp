// Who holds which weights in a plan, and when these are ready to leave.
#include <algorithm>

#include "lower/exchanges.hpp"

namespace plait::lower {

namespace {

void add_once(std::vector<int>& workers, int worker) {
  if (workers.empty() || workers.back() != worker) workers.push_back(worker);
}

}  // namespace

Holders holders(const plan::Plan& plan) {
  Holders all;
  all.updaters.resize(plan.network.blocks.size());
  all.state_movers.resize(plan.network.blocks.size());
  for (int w = 0; w < plan.workers(); ++w) {
    for (const plan::Task& task : plan.programs[static_cast<std::size_t>(w)].tasks) {
      if (const auto* update = std::get_if<plan::Update>(&task.what)) {
        add_once(all.updaters[static_cast<std::size_t>(update->block)], w);
      } else if (const auto* forward = std::get_if<plan::Forward>(&task.what)) {
        if (!forward->moves_state) continue;
        add_once(all.state_movers[static_cast<std::size_t>(forward->block)], w);
      }
    }
  }
  return all;
}

std::vector<Held> held_together(const plan::Plan& plan) {
  Holders of_all = holders(plan);
  std::vector<Held> all;
  for (int block = 0; block < plan.network.size(); ++block) {
    const plan::NetworkBlock& of = plan.network.blocks[static_cast<std::size_t>(block)];
    if (plan.network.repeats(block) || (of.parameters == 0 && of.state == 0)) continue;
    const auto index = static_cast<std::size_t>(block);
    std::vector<int> places = std::move(of_all.updaters[index]);
    if (places.empty() && of.state > 0) places = std::move(of_all.state_movers[index]);
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
    if (!plan::is<plan::BackwardData>(tasks[i]) && !plan::is<plan::BackwardWeights>(tasks[i]) &&
        !plan::is<plan::AddGradient>(tasks[i])) {
      continue;
    }
    last[static_cast<std::size_t>(network.owner_of(plan::block_of(tasks[i])))] = i;
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
