// The play without time. Only communication can wait, so only communication is played.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "plan/check_parts.hpp"

namespace plait::plan {

namespace {

constexpr std::int64_t kMostPeriods = 64;  ///< minibatches beyond the depth
constexpr std::size_t kMostBlocked = 4;    ///< workers named in a deadlock

/// Enough for the loop to come into its steady state and to go through every phase twice.
std::int64_t minibatches_to_check(const Plan& plan, int depth) {
  std::int64_t period = 1;
  for (const Program& program : plan.programs) {
    for (const Task& task : program.tasks) {
      if (period < kMostPeriods) period = std::lcm(period, std::int64_t{task.when.every});
    }
  }
  return depth + std::min(2 * period, kMostPeriods);
}

struct Sent {
  std::int64_t sent = -1;  ///< the latest minibatch
  bool awaited = false;
};

struct Sum {
  std::vector<int> started;  ///< members, by minibatch
  std::vector<int> summed;
  std::vector<int> waiting;  ///< workers
};

class Play {
 public:
  Play(const Plan& plan, const MessageIndex& index, const MinibatchRange& range, int depth)
      : plan_(plan),
        index_(index),
        range_(range),
        steps_(range_.last + depth),
        players_(plan.programs.size()),
        messages_(index.channels.size()),
        sums_(index.summations.size()) {
    const auto rows = static_cast<std::size_t>(range_.last);
    for (Sum& sum : sums_) {
      sum.started.assign(rows, 0);
      sum.summed.assign(rows, 0);
    }
    for (std::size_t w = 0; w < players_.size(); ++w) {
      for (std::size_t i = 0; i < index.number[w].size(); ++i) {
        if (index.number[w][i] >= 0) players_[w].tasks.push_back(static_cast<int>(i));
      }
    }
  }

  /// Empty where everybody comes to the end.
  std::string run() {
    ready_.resize(players_.size());
    std::iota(ready_.rbegin(), ready_.rend(), 0);
    while (!ready_.empty()) {
      const int worker = ready_.back();
      ready_.pop_back();
      advance(worker);
    }
    return deadlock();
  }

 private:
  struct Player {
    std::vector<int> tasks;  ///< positions of those that communicate
    std::int64_t step = 0;
    std::size_t next = 0;
  };

  /// As far as it goes.
  void advance(int worker) {
    Player& player = players_[static_cast<std::size_t>(worker)];
    if (player.tasks.empty()) player.step = steps_;
    for (; player.step < steps_; ++player.step, player.next = 0) {
      for (; player.next < player.tasks.size(); ++player.next) {
        const Task& task = task_of(worker);
        if (!runs(task.when, player.step, range_)) continue;
        const std::int64_t minibatch = task.when.minibatch_at(player.step);
        if (!play(worker, task, static_cast<std::size_t>(minibatch))) return;
      }
    }
  }

  /// False: it has to wait, and is woken.
  bool play(int worker, const Task& task, std::size_t minibatch) {
    const auto number = static_cast<std::size_t>(number_of(worker));
    if (is<Send>(task)) {
      Sent& message = messages_[number];
      message.sent = static_cast<std::int64_t>(minibatch);
      if (message.awaited) ready_.push_back(index_.channels[number].receive.worker);
      message.awaited = false;
      return true;
    }
    if (is<Receive>(task)) {
      Sent& message = messages_[number];
      message.awaited = message.sent < static_cast<std::int64_t>(minibatch);
      return !message.awaited;
    }
    Sum& sum = sums_[number];
    const int members = static_cast<int>(index_.summations[number].start.size());
    const Move move = std::get<Reduce>(task.what).move;
    if (move != Move::start) {
      const std::vector<int>& before = move == Move::sum ? sum.started : sum.summed;
      if (before[minibatch] < members) {
        sum.waiting.push_back(worker);
        return false;
      }
      if (move == Move::finish) return true;
    }
    std::vector<int>& done = move == Move::start ? sum.started : sum.summed;
    if (++done[minibatch] == members) {
      ready_.insert(ready_.end(), sum.waiting.begin(), sum.waiting.end());
      sum.waiting.clear();
    }
    return true;
  }

  std::string deadlock() const {
    std::string text;
    std::size_t blocked = 0;
    for (std::size_t w = 0; w < players_.size(); ++w) {
      if (players_[w].step >= steps_) continue;
      if (blocked++ >= kMostBlocked) continue;
      const int worker = static_cast<int>(w);
      const Task& task = task_of(worker);
      text += fmt::format("{}worker {} waits in {} (task {}, step {}, minibatch {}) for {}",
                          text.empty() ? "" : "; ", w, describe(plan_, task),
                          players_[w].tasks[players_[w].next], players_[w].step,
                          task.when.minibatch_at(players_[w].step), awaited(worker, task));
    }
    if (blocked > kMostBlocked) text += fmt::format("; and {} more", blocked - kMostBlocked);
    return text;
  }

  std::string awaited(int worker, const Task& task) const {
    if (const Message* message = message_of(task)) {
      return fmt::format("worker {} to send it", message->peer);
    }
    const Summation& sum = index_.summations[static_cast<std::size_t>(number_of(worker))];
    const bool starts = std::get<Reduce>(task.what).move == Move::sum;
    const std::int64_t minibatch =
        task.when.minibatch_at(players_[static_cast<std::size_t>(worker)].step);
    for (const Location& move : starts ? sum.start : sum.sum) {
      if (reached(move, minibatch)) continue;
      return fmt::format("worker {} to {} it", move.worker, starts ? "start" : "sum");
    }
    return "nobody";
  }

  /// Whether the worker is past that task for that minibatch.
  bool reached(const Location& move, std::int64_t minibatch) const {
    const Player& player = players_[static_cast<std::size_t>(move.worker)];
    const Task& task = plan_.programs[static_cast<std::size_t>(move.worker)]
                           .tasks[static_cast<std::size_t>(move.position)];
    const std::int64_t step = minibatch + task.when.offset;
    if (player.step != step) return player.step > step;
    return player.tasks[player.next] > move.position;
  }

  const Task& task_of(int worker) const {
    const Player& player = players_[static_cast<std::size_t>(worker)];
    return plan_.programs[static_cast<std::size_t>(worker)]
        .tasks[static_cast<std::size_t>(player.tasks[player.next])];
  }
  int number_of(int worker) const {
    const Player& player = players_[static_cast<std::size_t>(worker)];
    return index_.number[static_cast<std::size_t>(worker)]
                        [static_cast<std::size_t>(player.tasks[player.next])];
  }

  const Plan& plan_;
  const MessageIndex& index_;
  MinibatchRange range_;
  std::int64_t steps_;
  std::vector<Player> players_;
  std::vector<Sent> messages_;
  std::vector<Sum> sums_;
  std::vector<int> ready_;
};

}  // namespace

void check_order(const Plan& plan, const MessageIndex& index, FaultList& faults) {
  const int depth = plan.depth();
  MinibatchRange range{.last = minibatches_to_check(plan, depth)};
  for (range.mode = 0; range.mode < plan.ways(); ++range.mode) {
    const std::string text = Play(plan, index, range, depth).run();
    if (text.empty()) continue;
    faults.add("the workers wait for each other for ever: " + text);
    return;
  }
}

}  // namespace plait::plan
