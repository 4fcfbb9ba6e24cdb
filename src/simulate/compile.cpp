// Pairs sends with receives, and looks up seconds and bytes of every task once.
#include "simulate/compile.hpp"

#include <algorithm>
#include <array>
#include <unordered_map>

#include "base/error.hpp"

namespace plait {

namespace {

/// Shards are whole units of so many numbers, and an empty shard is no message
/// (transport/pieces.cpp).
constexpr std::int64_t kShardUnit = 16;

struct ChannelKey {
  std::array<int, 7> numbers{};
  bool operator==(const ChannelKey&) const = default;
};

struct ChannelHash {
  std::size_t operator()(const ChannelKey& key) const {
    std::uint64_t hash = 0xcbf29ce484222325;
    for (const int number : key.numbers) {
      hash = (hash ^ static_cast<std::uint32_t>(number)) * 0x9e3779b97f4a7c15;
      hash ^= hash >> 32;
    }
    return hash;
  }
};

class Compiler {
 public:
  Compiler(const Plan& plan, const CostModel& cost)
      : plan_(plan),
        cost_(cost),
        busy_(static_cast<std::size_t>(plan.machine.nodes)),
        reduction_of_(plan.groups.size() * plan.buckets.size(), -1) {
    for (int worker = 0; worker < plan.workers(); ++worker) {
      if (!tasks(worker).empty()) ++busy_[node_of(worker)];
    }
    for (const std::vector<int>& group : plan.groups) {
      compiled_.groups.push_back(spread(plan.machine, group));
    }
  }

  Compiled run() {
    compiled_.programs.resize(plan_.programs.size());
    for (int worker = 0; worker < plan_.workers(); ++worker) {
      std::vector<CompiledTask>& program = compiled_.programs[static_cast<std::size_t>(worker)];
      program.reserve(tasks(worker).size());
      for (const Task& task : tasks(worker)) program.push_back(compile(worker, task));
    }
    compiled_.channels = static_cast<int>(channels_.size());
    return std::move(compiled_);
  }

 private:
  const std::vector<Task>& tasks(int worker) const {
    return plan_.programs[static_cast<std::size_t>(worker)].tasks;
  }
  std::size_t node_of(int worker) const {
    return static_cast<std::size_t>(plan_.machine.node_of(worker));
  }

  CompiledTask compile(int worker, const Task& task) {
    const int busy = busy_[node_of(worker)];
    if (task.kind == TaskKind::send || task.kind == TaskKind::receive) {
      return {.bytes = wire_bytes(plan_, worker, task), .channel = channel(worker, task)};
    }
    if (is_reduce(task.kind)) return reduce(worker, task, busy);
    return {.seconds = task.kind == TaskKind::clip ? clip_seconds(cost_, plan_, worker, busy)
                                                   : task_seconds(cost_, plan_, task, busy)};
  }

  CompiledTask reduce(int worker, const Task& task, int busy) {
    const std::vector<int>& group = plan_.groups[group_of(task)];
    const auto place = std::ranges::lower_bound(group, worker);
    if (place == group.end() || *place != worker) {
      fail("worker {} reduces over group {}, of which it is no member: {}", worker, task.group,
           describe(plan_, task));
    }
    CompiledTask result{.bytes = wire_bytes(plan_, worker, task),
                        .channel = reduction(task),
                        .member = static_cast<int>(place - group.begin())};
    // Sums are of fp32 whatever travels: a shard of every member; then the others' shards copied.
    const auto n = static_cast<std::int64_t>(group.size());
    const std::int64_t bytes = 4 * elements(task.bucket);
    if (task.kind == TaskKind::reduce_sum && n > 1) {
      result.seconds = cost_.sum(bytes / n, static_cast<int>(n)) * cost_.contention(busy);
    } else if (task.kind == TaskKind::reduce_finish && n > 1) {
      result.seconds = cost_.sum(bytes / n * (n - 1), 1) * cost_.contention(busy);
    }
    return result;
  }

  int channel(int worker, const Task& task) {
    const bool sends = task.kind == TaskKind::send;
    const ChannelKey key{{sends ? worker : task.peer, sends ? task.peer : worker,
                          channel_index(task), static_cast<int>(task.role), task.samples.begin,
                          task.samples.end, task.samples.of}};
    return channels_.try_emplace(key, static_cast<int>(channels_.size())).first->second;
  }

  int reduction(const Task& task) {
    int& index = reduction_of_[group_of(task) * plan_.buckets.size() +
                               static_cast<std::size_t>(task.bucket)];
    if (index < 0) {
      const Bucket& bucket = plan_.buckets[static_cast<std::size_t>(task.bucket)];
      const auto n = static_cast<std::int64_t>(compiled_.groups[group_of(task)].members);
      const std::int64_t units = (elements(task.bucket) + kShardUnit - 1) / kShardUnit;
      index = static_cast<int>(compiled_.reductions.size());
      compiled_.reductions.push_back({.group = task.group,
                                      .bytes = static_cast<double>(bucket_bytes(plan_, bucket)),
                                      .messages = std::min(n, units) * (n - 1)});
    }
    return index;
  }

  static std::size_t group_of(const Task& task) { return static_cast<std::size_t>(task.group); }

  std::int64_t elements(int index) const {
    return bucket_numbers(plan_, plan_.buckets[static_cast<std::size_t>(index)]);
  }

  const Plan& plan_;
  const CostModel& cost_;
  Compiled compiled_;
  std::vector<int> busy_;          ///< per node: workers with something to do
  std::vector<int> reduction_of_;  ///< by (group, bucket)
  std::unordered_map<ChannelKey, int, ChannelHash> channels_;
};

}  // namespace

Compiled compile(const Plan& plan, const CostModel& cost) { return Compiler(plan, cost).run(); }

}  // namespace plait
