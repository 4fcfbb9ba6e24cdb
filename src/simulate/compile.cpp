// Pairs sends with receives, and looks up seconds and bytes of every task once.
#include "simulate/compile.hpp"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "base/error.hpp"
#include "plan/alike.hpp"
#include "plan/message_name.hpp"
#include "plan/network_sizes.hpp"

namespace plait::simulate {

namespace {

/// Shards are whole units of so many numbers, and an empty shard is no message
/// (transport/pieces.cpp).
constexpr std::int64_t kShardUnit = 16;

class Compiler {
 public:
  Compiler(const plan::Plan& plan, const cost::CostModel& cost)
      : plan_(plan),
        cost_(cost),
        sizes_(plan.network, {}),
        has_layers_(plan::has_layers(plan.network)),
        busy_(static_cast<std::size_t>(plan.machine.nodes)),
        reduction_of_(plan.groups.size() * plan.buckets.size(), -1) {
    for (int worker = 0; worker < plan.workers(); ++worker) {
      if (!tasks(worker).empty()) ++busy_[node_of(worker)];
    }
    for (const std::vector<int>& group : plan.groups) {
      compiled_.groups.push_back(spread(plan.machine, group));
    }
    for (const plan::Bucket& bucket : plan.buckets) {
      numbers_.push_back(plan::bucket_numbers(plan, bucket));
    }
  }

  Compiled run() {
    const std::vector<int> first = plan::first_alike(plan_);
    std::map<std::pair<int, int>, int> known;  // first worker alike, busy workers of the node
    std::vector<std::vector<int>> talking;     // by program: positions
    for (int worker = 0; worker < plan_.workers(); ++worker) {
      const auto [found, is_new] =
          known.try_emplace({first[static_cast<std::size_t>(worker)], busy_[node_of(worker)]},
                            static_cast<int>(compiled_.programs.size()));
      if (is_new) {
        compiled_.programs.push_back(compile(worker));
        talking.push_back(talking_in(worker));
      }
      compiled_.program.push_back(found->second);
      std::vector<CompiledTalk>& talks = compiled_.talks.emplace_back();
      for (const int position : talking[static_cast<std::size_t>(found->second)]) {
        talks.push_back(talk(worker, tasks(worker)[static_cast<std::size_t>(position)]));
      }
    }
    compiled_.channels = static_cast<int>(channels_.size());
    return std::move(compiled_);
  }

 private:
  const std::vector<plan::Task>& tasks(int worker) const {
    return plan_.programs[static_cast<std::size_t>(worker)].tasks;
  }
  std::size_t node_of(int worker) const {
    return static_cast<std::size_t>(plan_.machine.node_of(worker));
  }

  static bool talks(const plan::Task& task) {
    return plan::message_of(task) != nullptr || plan::is<plan::Reduce>(task);
  }

  std::vector<CompiledTask> compile(int worker) const {
    const std::vector<plan::Task>& of = tasks(worker);
    const int busy = busy_[node_of(worker)];
    std::vector<CompiledTask> program;
    program.reserve(of.size());
    int count = 0;
    for (const plan::Task& task : of) {
      if (talks(task)) {
        program.push_back({.talk = count++});
      } else {
        program.push_back({.seconds = plan::is<plan::Clip>(task)
                                          ? cost::clip_seconds(cost_, plan_, worker, busy)
                                          : cost::task_seconds(cost_, plan_, task, busy)});
      }
    }
    for (std::size_t i = of.size(); i-- > 0;) {
      if (program[i].talk >= 0) continue;
      const bool more = i + 1 < of.size() && program[i + 1].talk < 0 &&
                        of[i].when == of[i + 1].when &&
                        plan::is<plan::Update>(of[i]) == plan::is<plan::Update>(of[i + 1]);
      program[i].together = 1 + (more ? program[i + 1].together : 0);
    }
    return program;
  }

  std::vector<int> talking_in(int worker) const {
    std::vector<int> positions;
    const std::vector<plan::Task>& of = tasks(worker);
    for (std::size_t i = 0; i < of.size(); ++i) {
      if (talks(of[i])) positions.push_back(static_cast<int>(i));
    }
    return positions;
  }

  CompiledTalk talk(int worker, const plan::Task& task) {
    if (const plan::Message* message = plan::message_of(task)) {
      if (is_empty(*message)) return {};
      return {.bytes = plan::wire_bytes(plan_, worker, task), .channel = channel(worker, task)};
    }
    return reduce(worker, task, busy_[node_of(worker)]);
  }

  /// Plans send what a block's tasks leave each other wherever that may be something; where it is
  /// nothing no message travels, and nobody waits for one.
  bool is_empty(const plan::Message& message) {
    const auto& [role, index, samples] = message.value;
    const bool left = role == plan::Role::saved || role == plan::Role::pending;
    const std::int64_t count = samples.count(plan_.batch);
    if (!left || !has_layers_ || count == 0) return false;
    const graph::BlockSizes& sizes = sizes_.at(count).blocks[static_cast<std::size_t>(index)];
    return (role == plan::Role::saved ? sizes.saved_bytes : sizes.pending_bytes) == 0;
  }

  CompiledTalk reduce(int worker, const plan::Task& task, int busy) {
    const auto& reduce = std::get<plan::Reduce>(task.what);
    const std::vector<int>& group = plan_.groups[static_cast<std::size_t>(reduce.group)];
    const auto place = std::ranges::lower_bound(group, worker);
    if (place == group.end() || *place != worker) {
      fail("worker {} reduces over group {}, of which it is no member: {}", worker, reduce.group,
           plan::describe(plan_, task));
    }
    const auto n = static_cast<std::int64_t>(group.size());
    CompiledTalk result{.channel = reduction(reduce),
                        .member = static_cast<int>(place - group.begin())};
    result.bytes =
        plan::number_bytes(plan_, bucket(reduce)) *
        plan::sent_numbers(reduce.move, numbers(reduce), static_cast<int>(n), result.member);
    // Sums are of fp32 whatever travels: a shard of every member; then the others' shards copied.
    const std::int64_t bytes = 4 * numbers(reduce);
    if (reduce.move == plan::Move::sum && n > 1) {
      result.seconds = cost_.sum(bytes / n, static_cast<int>(n)) * cost_.contention(busy);
    } else if (reduce.move == plan::Move::finish && n > 1) {
      result.seconds = cost_.sum(bytes / n * (n - 1), 1) * cost_.contention(busy);
    }
    return result;
  }

  int channel(int worker, const plan::Task& task) {
    return channels_
        .try_emplace(plan::name_of_message(worker, task), static_cast<int>(channels_.size()))
        .first->second;
  }

  int reduction(const plan::Reduce& reduce) {
    const auto group = static_cast<std::size_t>(reduce.group);
    int& index =
        reduction_of_[group * plan_.buckets.size() + static_cast<std::size_t>(reduce.bucket)];
    if (index < 0) {
      const auto n = static_cast<std::int64_t>(compiled_.groups[group].members);
      const std::int64_t units = (numbers(reduce) + kShardUnit - 1) / kShardUnit;
      index = static_cast<int>(compiled_.reductions.size());
      compiled_.reductions.push_back(
          {.group = reduce.group,
           .bytes = static_cast<double>(plan::bucket_bytes(plan_, bucket(reduce))),
           .messages = std::min(n, units) * (n - 1)});
    }
    return index;
  }

  const plan::Bucket& bucket(const plan::Reduce& reduce) const {
    return plan_.buckets[static_cast<std::size_t>(reduce.bucket)];
  }
  std::int64_t numbers(const plan::Reduce& reduce) const {
    return numbers_[static_cast<std::size_t>(reduce.bucket)];
  }

  const plan::Plan& plan_;
  const cost::CostModel& cost_;
  Compiled compiled_;
  plan::SizesBySamples sizes_;
  bool has_layers_;
  std::vector<int> busy_;              ///< per node: workers with something to do
  std::vector<std::int64_t> numbers_;  ///< by bucket
  std::vector<int> reduction_of_;      ///< by (group, bucket)
  std::unordered_map<plan::MessageName, int, plan::MessageNameHash> channels_;
};

}  // namespace

Compiled compile(const plan::Plan& plan, const cost::CostModel& cost) {
  return Compiler(plan, cost).run();
}

}  // namespace plait::simulate
