// Takes one period out of a play: the order of each worker's jobs, their offsets, loads, messages,
// reductions and updates.
#include "strategy/pipeline/freeze.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "strategy/steps.hpp"

namespace plait::strategy::pipeline {

namespace {

/// Where a job stands in the loop of its worker.
struct Place {
  int offset = 0;
  int position = 0;  ///< among the jobs of its worker
  auto operator<=>(const Place&) const = default;
};

class Freezer {
 public:
  Freezer(const PlanRequest& request, const JobGraph& graph, const SelfTimed& played,
          const FreezeOptions& options)
      : request_(request),
        graph_(graph),
        played_(played),
        options_(options),
        start_(played.start),
        places_(graph.jobs.size()),
        before_(graph.jobs.size()),
        behind_(graph.jobs.size()) {}

  plan::Plan run() {
    keep_gradients_apart();
    find_places();
    add_loads();
    add_messages();
    add_weight_sends();
    return assemble();
  }

 private:
  const Job& job(int index) const { return graph_.jobs[static_cast<std::size_t>(index)]; }
  Place place(int index) const { return places_[static_cast<std::size_t>(index)]; }

  /// There is one array for a block's gradient: its first microbatch must not begin before the
  /// update of the minibatch before. Nobody but the update waits for gradients, so they may come
  /// later than they were played. So may forwards that wait for an update (staleness_bound.hpp):
  /// a play need not repeat itself with every minibatch, but the loop does.
  void keep_gradients_apart() {
    if (!options_.asynchronous) return;
    bool moved = true;
    for (int round = 0; moved && round < 1000; ++round) {
      moved = false;
      for (std::size_t j = 0; j < graph_.jobs.size(); ++j) {
        for (const Job::After& after : graph_.jobs[j].after) {
          const double least =
              start_[static_cast<std::size_t>(after.job)] - after.earlier * played_.period;
          if (start_[j] >= least) continue;
          start_[j] = least;
          moved = true;
        }
      }
    }
  }

  void find_places() {
    std::vector<std::vector<int>> of(static_cast<std::size_t>(graph_.workers));
    for (std::size_t j = 0; j < graph_.jobs.size(); ++j) {
      of[static_cast<std::size_t>(graph_.jobs[j].worker)].push_back(static_cast<int>(j));
    }
    for (std::vector<int>& jobs : of) {
      const auto start = [&](int j) { return start_[static_cast<std::size_t>(j)]; };
      std::ranges::stable_sort(jobs, {}, start);
      if (options_.asynchronous && !jobs.empty()) into_loop(jobs, start(jobs.front()));
      for (std::size_t i = 0; i < jobs.size(); ++i) {
        places_[static_cast<std::size_t>(jobs[i])].position = static_cast<int>(i);
      }
      order_.push_back(std::move(jobs));
    }
  }

  /// Jobs sorted by their time in the period; what begins later than a period has an offset.
  void into_loop(std::vector<int>& jobs, double first) {
    constexpr double kTicks = 1e9;  // of a period: what is nearer counts as one moment
    const auto period = static_cast<std::int64_t>(kTicks);
    std::vector<std::tuple<std::int64_t, int, int>> phases;  // phase, minus offset, job
    for (const int j : jobs) {
      const double periods = (start_[static_cast<std::size_t>(j)] - first) / played_.period;
      const std::int64_t ticks = std::llround(periods * kTicks);
      Place& place = places_[static_cast<std::size_t>(j)];
      place.offset = static_cast<int>(ticks / period);
      phases.emplace_back(ticks % period, -place.offset, j);
    }
    // Of equal phases older minibatches come first; the sort keeps the order of equal moments.
    std::ranges::stable_sort(
        phases, {}, [](const auto& one) { return std::pair(std::get<0>(one), std::get<1>(one)); });
    for (std::size_t i = 0; i < jobs.size(); ++i) jobs[i] = std::get<2>(phases[i]);
  }

  static bool is_loaded(const plan::Value& value) {
    return value.role == plan::Role::targets ||
           (value.role == plan::Role::tensor && value.index == 0);
  }

  /// Before the first job of a worker that needs input or targets of a microbatch.
  void add_loads() {
    plan::Plan plan;
    plan.network = request_.network;
    plan.batch = request_.batch;
    std::map<std::pair<int, int>, int> first;  // worker, microbatch -> job
    for (std::size_t j = 0; j < graph_.jobs.size(); ++j) {
      const Job& one = graph_.jobs[j];
      if (!plan::takes_samples(one.task) || plan::is<plan::Receive>(one.task)) continue;
      const auto list = plan::accesses(plan, one.task);
      if (!std::ranges::any_of(list, [](const plan::Access& a) { return is_loaded(a.value); }))
        continue;
      const auto [found, is_new] =
          first.try_emplace({one.worker, one.microbatch}, static_cast<int>(j));
      if (!is_new && place(static_cast<int>(j)) < place(found->second)) {
        found->second = static_cast<int>(j);
      }
    }
    for (const auto& [where, j] : first) {
      before_[static_cast<std::size_t>(j)].push_back(
          {{.offset = place(j).offset}, plan::Load{plan::samples_of(job(j).task)}});
    }
  }

  /// Sent right after it was made, received right before it is first read.
  void add_messages() {
    using Key = std::tuple<plan::Role, int, int, int, int>;  // value, from, to
    std::map<Key, const Delivery*> wanted;
    for (const Delivery& delivery : graph_.deliveries) {
      const Key key{delivery.value.role, delivery.value.index, delivery.value.samples.begin,
                    job(delivery.maker).worker, job(delivery.user).worker};
      const auto [found, is_new] = wanted.try_emplace(key, &delivery);
      if (!is_new && place(delivery.user) < place(found->second->user)) found->second = &delivery;
    }
    for (const auto& [key, delivery] : wanted) {
      const int sender = sender_of(*delivery);
      const auto message = [&](int peer) { return plan::Message{delivery->value, peer}; };
      behind_[static_cast<std::size_t>(sender)].push_back(
          {{.offset = place(sender).offset}, plan::Send{message(job(delivery->user).worker)}});
      before_[static_cast<std::size_t>(delivery->user)].push_back(
          {{.offset = place(delivery->user).offset},
           plan::Receive{message(job(delivery->maker).worker)}});
    }
  }

  /// The maker itself; with a fused backward its backward_weights, which stands behind it.
  int sender_of(const Delivery& delivery) const {
    if (!options_.fused || delivery.value.role != plan::Role::diff) return delivery.maker;
    const plan::Task& made = job(delivery.maker).task;
    const auto next = static_cast<std::size_t>(delivery.maker) + 1;
    if (!plan::is<plan::BackwardData>(made) || next >= graph_.jobs.size()) return delivery.maker;
    const plan::Task& task = graph_.jobs[next].task;
    const bool belongs =
        plan::is<plan::BackwardWeights>(task) && plan::block_of(task) == plan::block_of(made);
    return belongs ? delivery.maker + 1 : delivery.maker;
  }

  void add_weight_sends() {
    for (const Job& receiver : graph_.jobs) {
      const auto* receive = std::get_if<plan::Receive>(&receiver.task.what);
      if (receive == nullptr) continue;
      const int update = receiver.after.front().job;
      const plan::Send send{{.value = receive->message.value, .peer = receiver.worker}};
      behind_[static_cast<std::size_t>(update)].push_back({{.offset = place(update).offset}, send});
    }
  }

  plan::Plan assemble() {
    plan::Plan plan = empty_plan(options_.strategy, request_);
    plan.groups = graph_.groups;
    plan.buckets = graph_.buckets;
    for (std::size_t w = 0; w < order_.size(); ++w) {
      std::vector<plan::Task>& tasks = plan.programs[w].tasks;
      for (const int j : order_[w]) {
        const auto& before = before_[static_cast<std::size_t>(j)];
        const auto& behind = behind_[static_cast<std::size_t>(j)];
        tasks.insert(tasks.end(), before.begin(), before.end());
        tasks.push_back(job(j).task);
        tasks.back().when.offset = place(j).offset;
        tasks.insert(tasks.end(), behind.begin(), behind.end());
      }
    }
    return plan;
  }

  const PlanRequest& request_;
  const JobGraph& graph_;
  const SelfTimed& played_;
  const FreezeOptions& options_;
  std::vector<double> start_;
  std::vector<Place> places_;  ///< by job
  std::vector<std::vector<int>> order_;
  std::vector<std::vector<plan::Task>> before_;  ///< loads and receives, by job
  std::vector<std::vector<plan::Task>> behind_;  ///< sends, by job
};

}  // namespace

plan::Plan freeze(const PlanRequest& request, const JobGraph& graph, const SelfTimed& played,
                  const FreezeOptions& options) {
  return Freezer(request, graph, played, options).run();
}

}  // namespace plait::strategy::pipeline
