// Sends and receives in pairs; buckets started, summed and finished by every member of their group.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <unordered_map>

#include "plan/check_parts.hpp"

namespace plait::planning {

namespace {

/// What makes a send and a receive belong together.
struct ChannelKey {
  int from = 0;
  int to = 0;
  int index = 0;  ///< channel_index()
  Role role = Role::tensor;
  Samples samples{};
  bool operator==(const ChannelKey&) const = default;
};

struct KeyHash {
  std::size_t operator()(const ChannelKey& key) const {
    auto hash = static_cast<std::uint64_t>(key.role);
    for (int part :
         {key.from, key.to, key.index, key.samples.begin, key.samples.end, key.samples.of}) {
      hash = (hash ^ static_cast<std::uint32_t>(part)) * 0x9E3779B97F4A7C15;
      hash ^= hash >> 31;
    }
    return static_cast<std::size_t>(hash);
  }
};

class MessageCheck {
 public:
  MessageCheck(const Plan& plan, FaultList& faults) : plan_(plan), faults_(faults) {}

  Talk run() {
    talk_.number.resize(plan_.programs.size());
    for (int worker = 0; worker < plan_.workers(); ++worker) {
      const std::vector<Task>& tasks = plan_.programs[static_cast<std::size_t>(worker)].tasks;
      std::vector<int>& number = talk_.number[static_cast<std::size_t>(worker)];
      number.assign(tasks.size(), -1);
      for (std::size_t i = 0; i < tasks.size(); ++i) {
        const Location here{worker, static_cast<int>(i)};
        if (tasks[i].kind == TaskKind::send || tasks[i].kind == TaskKind::receive) {
          number[i] = note_message(tasks[i], here);
        } else if (is_reduce(tasks[i].kind)) {
          number[i] = note_summation(tasks[i], here);
        }
      }
    }
    for (const Channel& channel : talk_.channels) check(channel);
    for (const Summation& summation : talk_.summations) check(summation);
    return std::move(talk_);
  }

 private:
  int note_message(const Task& task, const Location& here) {
    const bool sends = task.kind == TaskKind::send;
    const ChannelKey key{.from = sends ? here.worker : task.peer,
                         .to = sends ? task.peer : here.worker,
                         .index = channel_index(task),
                         .role = task.role,
                         .samples = task.samples};
    const auto [found, is_new] =
        channels_.try_emplace(key, static_cast<int>(talk_.channels.size()));
    if (is_new) talk_.channels.emplace_back();
    Channel& channel = talk_.channels[static_cast<std::size_t>(found->second)];
    put(sends ? channel.send : channel.receive, here);
    return found->second;
  }

  int note_summation(const Task& task, const Location& here) {
    const std::vector<int>& group = plan_.groups[static_cast<std::size_t>(task.group)];
    const std::int64_t key =
        task.group * static_cast<std::int64_t>(plan_.buckets.size()) + task.bucket;
    const auto [found, is_new] =
        summations_.try_emplace(key, static_cast<int>(talk_.summations.size()));
    if (is_new) {
      const std::vector<Location> nobody(group.size());
      talk_.summations.push_back({task.group, task.bucket, nobody, nobody, nobody});
    }
    Summation& summation = talk_.summations[static_cast<std::size_t>(found->second)];
    const auto member =
        static_cast<std::size_t>(std::ranges::lower_bound(group, here.worker) - group.begin());
    put(moves(summation, task.kind)[member], here);
    return found->second;
  }

  static std::vector<Location>& moves(Summation& summation, TaskKind kind) {
    if (kind == TaskKind::reduce_start) return summation.start;
    return kind == TaskKind::reduce_sum ? summation.sum : summation.finish;
  }

  void put(Location& place, const Location& here) {
    if (place.worker >= 0) {
      faults_.add(here.worker, here.position,
                  fmt::format("task {} does the same in the same step", place.position));
    }
    place = here;
  }

  void check(const Channel& channel) {
    if (channel.send.worker < 0) {
      const Task& task = at(channel.receive);
      add(channel.receive, fmt::format("worker {} never sends it", task.peer));
    } else if (channel.receive.worker < 0) {
      const Task& task = at(channel.send);
      add(channel.send, fmt::format("worker {} never receives it", task.peer));
    } else if (!same_minibatches(at(channel.send), at(channel.receive))) {
      add(channel.receive,
          fmt::format("runs for other minibatches than the send (task {}) of worker "
                      "{}",
                      channel.send.position, channel.send.worker));
    } else if (at(channel.send).half != at(channel.receive).half) {
      add(channel.receive, fmt::format("worker {} sends it in another width", channel.send.worker));
    }
  }

  void check(const Summation& summation) {
    const std::vector<int>& group = plan_.groups[static_cast<std::size_t>(summation.group)];
    const Location* known = nullptr;
    for (std::size_t m = 0; m < group.size() && known == nullptr; ++m) {
      for (const auto* list : {&summation.start, &summation.sum, &summation.finish}) {
        if ((*list)[m].worker >= 0) known = &(*list)[m];
      }
    }
    constexpr std::array<std::string_view, 3> words{"starts", "sums", "finishes"};
    for (std::size_t m = 0; m < group.size(); ++m) {
      const std::array<Location, 3> move{summation.start[m], summation.sum[m], summation.finish[m]};
      for (std::size_t k = 0; k < move.size(); ++k) {
        if (move[k].worker < 0) {
          add(*known, fmt::format("worker {} of group {} never {} bucket {}", group[m],
                                  summation.group, words[k], summation.bucket));
        } else if (!same_minibatches(at(*known), at(move[k]))) {
          add(move[k], fmt::format("runs for other minibatches than {} of worker {}",
                                   describe(plan_, at(*known)), known->worker));
        } else if (k > 0 && move[k - 1].worker >= 0 && moment(move[k]) < moment(move[k - 1])) {
          add(move[k], fmt::format("comes before {}", describe(plan_, at(move[k - 1]))));
        }
      }
    }
  }

  const Task& at(const Location& place) const { return faults_.task(place.worker, place.position); }
  Moment moment(const Location& place) const { return {at(place).offset, place.position}; }
  void add(const Location& place, const std::string& what) {
    faults_.add(place.worker, place.position, what);
  }

  const Plan& plan_;
  FaultList& faults_;
  Talk talk_;
  std::unordered_map<ChannelKey, int, KeyHash> channels_;
  std::unordered_map<std::int64_t, int> summations_;
};

}  // namespace

Talk check_messages(const Plan& plan, FaultList& faults) {
  return MessageCheck(plan, faults).run();
}

}  // namespace plait::planning
