// Sends and receives in pairs; buckets started, summed and finished by every member of their group.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <unordered_map>

#include "plan/check_parts.hpp"
#include "plan/message_name.hpp"

namespace plait::plan {

namespace {

class MessageCheck {
 public:
  MessageCheck(const Plan& plan, FaultList& faults) : plan_(plan), faults_(faults) {}

  MessageIndex run() {
    index_.number.resize(plan_.programs.size());
    for (int worker = 0; worker < plan_.workers(); ++worker) {
      const std::vector<Task>& tasks = plan_.programs[static_cast<std::size_t>(worker)].tasks;
      std::vector<int>& number = index_.number[static_cast<std::size_t>(worker)];
      number.assign(tasks.size(), -1);
      for (std::size_t i = 0; i < tasks.size(); ++i) {
        const Location here{worker, static_cast<int>(i)};
        if (message_of(tasks[i]) != nullptr) {
          number[i] = note_message(tasks[i], here);
        } else if (const auto* reduce = std::get_if<Reduce>(&tasks[i].what)) {
          number[i] = note_summation(*reduce, here);
        }
      }
    }
    for (const Channel& channel : index_.channels) check(channel);
    for (const Summation& summation : index_.summations) check(summation);
    return std::move(index_);
  }

 private:
  int note_message(const Task& task, const Location& here) {
    const MessageName key = name_of_message(here.worker, task);
    const auto [found, is_new] =
        channels_.try_emplace(key, static_cast<int>(index_.channels.size()));
    if (is_new) index_.channels.emplace_back();
    Channel& channel = index_.channels[static_cast<std::size_t>(found->second)];
    put(is<Send>(task) ? channel.send : channel.receive, here);
    return found->second;
  }

  int note_summation(const Reduce& reduce, const Location& here) {
    const std::vector<int>& group = plan_.groups[static_cast<std::size_t>(reduce.group)];
    const auto [found, is_new] = summations_.try_emplace(
        {reduce.group, reduce.bucket}, static_cast<int>(index_.summations.size()));
    if (is_new) {
      const std::vector<Location> nobody(group.size());
      index_.summations.push_back({reduce.group, reduce.bucket, nobody, nobody, nobody});
    }
    Summation& summation = index_.summations[static_cast<std::size_t>(found->second)];
    const auto member =
        static_cast<std::size_t>(std::ranges::lower_bound(group, here.worker) - group.begin());
    put(moves(summation, reduce.move)[member], here);
    return found->second;
  }

  static std::vector<Location>& moves(Summation& summation, Move move) {
    if (move == Move::start) return summation.start;
    return move == Move::sum ? summation.sum : summation.finish;
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
      const int peer = message_of(at(channel.receive))->peer;
      add(channel.receive, fmt::format("worker {} never sends it", peer));
    } else if (channel.receive.worker < 0) {
      const int peer = message_of(at(channel.send))->peer;
      add(channel.send, fmt::format("worker {} never receives it", peer));
    } else if (!same_minibatches(at(channel.send), at(channel.receive))) {
      add(channel.receive,
          fmt::format("runs for other minibatches than the send (task {}) of worker "
                      "{}",
                      channel.send.position, channel.send.worker));
    } else if (message_of(at(channel.send))->half != message_of(at(channel.receive))->half) {
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

  /// In every mode.
  bool same_minibatches(const Task& a, const Task& b) const {
    for (int mode = 0; mode < plan_.ways(); ++mode) {
      if (!runs_whenever(a.when, b.when, mode) || !runs_whenever(b.when, a.when, mode))
        return false;
    }
    return true;
  }
  const Task& at(const Location& place) const { return faults_.task(place.worker, place.position); }
  Moment moment(const Location& place) const { return {at(place).when.offset, place.position}; }
  void add(const Location& place, const std::string& what) {
    faults_.add(place.worker, place.position, what);
  }

  const Plan& plan_;
  FaultList& faults_;
  MessageIndex index_;
  std::unordered_map<MessageName, int, MessageNameHash> channels_;
  std::map<std::pair<int, int>, int> summations_;  ///< by group and bucket
};

}  // namespace

MessageIndex check_messages(const Plan& plan, FaultList& faults) {
  return MessageCheck(plan, faults).run();
}

}  // namespace plait::plan
