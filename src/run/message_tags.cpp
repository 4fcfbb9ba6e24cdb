// Numbers the channels of each pair of workers in the order of the sender's program.
#include "run/message_tags.hpp"

#include <map>

#include "plan/message_name.hpp"

namespace plait::run {

std::vector<int> message_tags(const plan::Plan& plan, int worker) {
  using Channels = std::map<plan::MessageName, int>;
  // Numbered in the order of the sender's program.
  const auto sent = [&](int from, int to) {
    Channels channels;
    for (const plan::Task& task : plan.programs[static_cast<std::size_t>(from)].tasks) {
      const auto* send = std::get_if<plan::Send>(&task.what);
      if (send == nullptr || send->message.peer != to) continue;
      channels.emplace(plan::name_of_message(from, task), static_cast<int>(channels.size()));
    }
    return channels;
  };
  std::map<std::pair<int, int>, Channels> known;
  const std::vector<plan::Task>& tasks = plan.programs[static_cast<std::size_t>(worker)].tasks;
  std::vector<int> tags(tasks.size(), 0);
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    if (message_of(tasks[i]) == nullptr) continue;
    const plan::MessageName name = plan::name_of_message(worker, tasks[i]);
    const std::pair pair(name.from, name.to);
    if (!known.contains(pair)) known.emplace(pair, sent(name.from, name.to));
    tags[i] = known.at(pair).at(name);
  }
  return tags;
}

}  // namespace plait::run
