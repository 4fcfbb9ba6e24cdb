// Numbers the channels of each pair of workers in the order of the sender's program.
#include "run/message_tags.hpp"

#include <map>
#include <tuple>

namespace plait {

namespace {

auto channel_of(const Task& task) {
  return std::tuple(task.role, channel_index(task), task.samples.begin, task.samples.end,
                    task.samples.of);
}

}  // namespace

std::vector<int> message_tags(const Plan& plan, int worker) {
  using Channels = std::map<decltype(channel_of(Task{})), int>;
  // Numbered in the order of the sender's program.
  const auto sent = [&](int from, int to) {
    Channels channels;
    for (const Task& task : plan.programs[static_cast<std::size_t>(from)].tasks) {
      if (task.kind != TaskKind::send || task.peer != to) continue;
      channels.emplace(channel_of(task), static_cast<int>(channels.size()));
    }
    return channels;
  };
  std::map<std::pair<int, int>, Channels> known;
  const std::vector<Task>& tasks = plan.programs[static_cast<std::size_t>(worker)].tasks;
  std::vector<int> tags(tasks.size(), 0);
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    const Task& task = tasks[i];
    if (task.kind != TaskKind::send && task.kind != TaskKind::receive) continue;
    const bool sends = task.kind == TaskKind::send;
    const std::pair pair(sends ? worker : task.peer, sends ? task.peer : worker);
    if (!known.contains(pair)) known.emplace(pair, sent(pair.first, pair.second));
    tags[i] = known.at(pair).at(channel_of(task));
  }
  return tags;
}

}  // namespace plait
