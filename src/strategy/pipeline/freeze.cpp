// Takes one period out of a play: the order of each worker's jobs and their offsets.
#include "strategy/pipeline/freeze.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace plait::strategy::pipeline {

namespace {

class Freezer {
 public:
  Freezer(const lower::Graph& graph, const SelfTimed& played, bool asynchronous)
      : graph_(graph),
        jobs_(graph.schedule.items),
        played_(played),
        asynchronous_(asynchronous),
        start_(played.start) {}

  lower::Order run() {
    if (asynchronous_) keep_gradients_apart();
    std::vector<std::vector<int>> of(graph_.schedule.plan.programs.size());
    for (std::size_t j = 0; j < jobs_.size(); ++j) {
      of[static_cast<std::size_t>(jobs_[j].worker)].push_back(static_cast<int>(j));
    }
    lower::Order order;
    for (std::vector<int>& jobs : of) {
      std::ranges::stable_sort(jobs, {}, [&](int j) { return start(j); });
      order.push_back(in_loop(jobs));
    }
    return order;
  }

 private:
  double& start(int job) { return start_[static_cast<std::size_t>(job)]; }

  /// There is one array for a block's gradient: its first microbatch must not begin before the
  /// update of the minibatch before. Nobody but the update waits for gradients, so they may come
  /// later than they were played. So may forwards that wait for an update (staleness_bound.hpp):
  /// a play need not repeat itself with every minibatch, but the loop does.
  void keep_gradients_apart() {
    bool moved = true;
    for (int round = 0; moved && round < 1000; ++round) {
      moved = false;
      for (std::size_t j = 0; j < jobs_.size(); ++j) {
        for (const lower::Wait& after : jobs_[j].after) {
          const double least =
              start_[static_cast<std::size_t>(after.item)] - after.earlier * played_.period;
          if (start_[j] >= least) continue;
          start_[j] = least;
          moved = true;
        }
      }
    }
  }

  /// Jobs sorted by their time in the period; what begins later than a period has an offset.
  std::vector<lower::OrderedItem> in_loop(const std::vector<int>& jobs) {
    std::vector<lower::OrderedItem> ordered;
    if (!asynchronous_) {
      for (const int j : jobs) ordered.push_back({.item = j});
      return ordered;
    }
    constexpr double kTicks = 1e9;  // of a period: what is nearer counts as one moment
    const auto period = static_cast<std::int64_t>(kTicks);
    std::vector<std::tuple<std::int64_t, int, int>> phases;  // phase, minus offset, job
    for (const int j : jobs) {
      const double periods = (start(j) - start(jobs.front())) / played_.period;
      const std::int64_t ticks = std::llround(periods * kTicks);
      phases.emplace_back(ticks % period, -static_cast<int>(ticks / period), j);
    }
    // Of equal phases older minibatches come first; the sort keeps the order of equal moments.
    std::ranges::stable_sort(
        phases, {}, [](const auto& one) { return std::pair(std::get<0>(one), std::get<1>(one)); });
    for (const auto& [phase, earlier, j] : phases) ordered.push_back({j, -earlier});
    return ordered;
  }

  const lower::Graph& graph_;
  const std::vector<Job>& jobs_;
  const SelfTimed& played_;
  bool asynchronous_;
  std::vector<double> start_;
};

}  // namespace

lower::Order freeze(const lower::Graph& graph, const SelfTimed& played, bool asynchronous) {
  return Freezer(graph, played, asynchronous).run();
}

}  // namespace plait::strategy::pipeline
