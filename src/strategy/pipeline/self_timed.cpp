// The event loop of the play, with limits of microbatches in flight and of staleness.
#include "strategy/pipeline/self_timed.hpp"

#include <algorithm>
#include <numeric>
#include <queue>
#include <set>
#include <tuple>

#include "base/error.hpp"
#include "strategy/pipeline/held_pieces.hpp"

namespace plait::strategy::pipeline {

namespace {

int rank_of(plan::TaskKind kind, Urgency urgency) {
  const bool forwards = urgency == Urgency::forward_first || urgency == Urgency::all_forwards ||
                        urgency == Urgency::weights_last;
  const bool fused = urgency != Urgency::backward_first && urgency != Urgency::weights_last;
  switch (kind) {
    case plan::TaskKind::forward: return forwards ? 1 : 2;
    case plan::TaskKind::backward_data: return forwards ? 2 : 1;
    case plan::TaskKind::backward_weights: return fused ? 0 : 3;
    default: return 0;
  }
}

class Player {
 public:
  Player(const lower::Graph& graph, const SelfTimedOptions& options)
      : jobs_(graph.schedule.items),
        microbatches_(static_cast<std::size_t>(graph.schedule.plan.microbatches)),
        options_(options),
        held_(graph, options.pieces, options.held, options.minibatches),
        count_(jobs_.size()),
        workers_(graph.schedule.plan.programs.size()),
        waits_(count_ * minibatches()),
        ready_at_(waits_.size(), 0.0),
        start_(waits_.size(), -1.0),
        first_user_(count_ + 1, 0),
        left_(workers_.size() * minibatches() * microbatches_) {
    for (std::size_t j = 0; j < count_; ++j) {
      const Job& job = jobs_[j];
      const bool listed = static_cast<int>(j) < graph.listed;
      const int microbatch =
          listed ? plan::samples_of(job.task).begin : graph.schedule.plan.microbatches - 1;
      microbatch_.push_back(microbatch);
      if (counts(job)) {
        Left& left = left_of(job.worker, microbatch);
        ++left.all;
        if (!plan::is<plan::BackwardWeights>(job.task)) ++left.open;
        if (plan::is<plan::Forward>(job.task)) ++left.forwards;
      }
      if (plan::is<plan::Forward>(job.task)) {
        workers_[static_cast<std::size_t>(job.worker)].forwards += options.minibatches;
      }
      std::vector<int>& own = workers_[static_cast<std::size_t>(job.worker)].own;
      if (plan::is<plan::Forward>(job.task) && (own.empty() || own.back() != microbatch)) {
        own.push_back(microbatch);  // jobs come by microbatch
      }
    }
    find_users();
    spread_counts();
  }

  SelfTimed run() {
    for (std::size_t i = 0; i < waits_.size(); ++i) {
      const std::size_t minibatch = i / count_;
      const Job& job = jobs_[i % count_];
      waits_[i] = static_cast<int>(std::ranges::count_if(job.after, [&](const lower::Wait& after) {
        return static_cast<std::size_t>(after.earlier) <= minibatch;
      }));
      if (waits_[i] == 0) arrive_.emplace(0.0, i);
    }
    while (!arrive_.empty() || !end_.empty() || take_any_turn()) {
      now_ = std::min(arrive_.empty() ? kNever : arrive_.top().first,
                      end_.empty() ? kNever : end_.top().first);
      while (!end_.empty() && end_.top().first <= now_) finish_next();
      while (!arrive_.empty() && arrive_.top().first <= now_) {
        const std::size_t instance = arrive_.top().second;
        arrive_.pop();
        worker_of(instance).ready.insert(entry(instance));
        dirty_.insert(jobs_[instance % count_].worker);
      }
      dispatch();
    }
    if (done_ != waits_.size()) fail("a pipeline's jobs wait for each other");
    return summary();
  }

 private:
  static constexpr double kNever = 1e300;
  using Entry = std::tuple<int, std::int64_t, std::size_t>;  ///< rank, microbatch, instance
  using Event = std::pair<double, std::size_t>;              ///< time, instance
  using Events = std::priority_queue<Event, std::vector<Event>, std::greater<>>;
  struct User {
    int job = 0;
    double seconds = 0;
    int earlier = 0;
  };
  /// Jobs of a microbatch on a worker.
  struct Left {
    int all = 0;
    int open = 0;  ///< without backward_weights
    int forwards = 0;
  };
  struct Worker {
    std::set<Entry> ready;
    std::set<std::int64_t> begun;  ///< microbatches, over all minibatches
    std::set<std::int64_t> open;   ///< those of them that have more to come than backward_weights
    std::set<std::int64_t> back;   ///< those of them whose backward has begun
    std::set<std::int64_t> half;   ///< those of them whose forward has begun and not ended
    std::size_t backwards = 0;     ///< begun
    int forwards = 0;              ///< jobs to come
    std::vector<int> own;          ///< microbatches of a minibatch that have forwards here
    std::size_t admitted = 0;      ///< of them, over all minibatches
    bool busy = false;
  };

  /// Jobs of samples hold memory of their microbatch.
  static bool counts(const Job& job) {
    return plan::takes_samples(job.task) && !plan::is<plan::Receive>(job.task);
  }
  /// The waits of all jobs, by what they wait for.
  void find_users() {
    for (const Job& job : jobs_) {
      for (const lower::Wait& after : job.after) {
        ++first_user_[static_cast<std::size_t>(after.item) + 1];
      }
    }
    std::partial_sum(first_user_.begin(), first_user_.end(), first_user_.begin());
    users_.resize(first_user_.back());
    std::vector<std::size_t> next(first_user_.begin(), first_user_.end() - 1);
    for (std::size_t j = 0; j < count_; ++j) {
      for (const lower::Wait& after : jobs_[j].after) {
        users_[next[static_cast<std::size_t>(after.item)]++] = {static_cast<int>(j), after.seconds,
                                                                after.earlier};
      }
    }
  }
  std::size_t minibatches() const { return static_cast<std::size_t>(options_.minibatches); }
  Worker& worker_of(std::size_t instance) {
    return workers_[static_cast<std::size_t>(jobs_[instance % count_].worker)];
  }
  /// Counted over all minibatches.
  std::int64_t microbatch_of(std::size_t instance) const {
    return static_cast<std::int64_t>(instance / count_ * microbatches_) +
           microbatch_[instance % count_];
  }
  Left& left_of(int worker, std::int64_t microbatch) {
    return left_[static_cast<std::size_t>(worker) * minibatches() * microbatches_ +
                 static_cast<std::size_t>(microbatch)];
  }
  void spread_counts() {
    for (int worker = 0; worker < static_cast<int>(workers_.size()); ++worker) {
      for (std::size_t i = microbatches_; i < minibatches() * microbatches_; ++i) {
        left_of(worker, static_cast<std::int64_t>(i)) =
            left_of(worker, static_cast<std::int64_t>(i % microbatches_));
      }
    }
  }
  /// The microbatch whose turn it is to begin: they begin in order, or a later one could take the
  /// place that an earlier one needs.
  std::int64_t next_of(const Worker& worker) const {
    const std::size_t each = worker.own.size();
    return static_cast<std::int64_t>(worker.admitted / each * microbatches_) +
           worker.own[worker.admitted % each];
  }
  Entry entry(std::size_t instance) const {
    return {rank_of(plan::kind_of(jobs_[instance % count_].task), options_.urgency),
            microbatch_of(instance), instance};
  }

  void finish_next() {
    const std::size_t instance = end_.top().second;
    end_.pop();
    ++done_;
    const std::size_t minibatch = instance / count_;  // one division for all users
    const std::size_t index = instance - minibatch * count_;
    const Job& job = jobs_[index];
    Worker& worker = workers_[static_cast<std::size_t>(job.worker)];
    worker.busy = false;
    dirty_.insert(job.worker);
    if (counts(job)) {
      const std::int64_t microbatch = microbatch_of(instance);
      held_.note_end(job, microbatch);
      Left& left = left_of(job.worker, microbatch);
      if (!plan::is<plan::BackwardWeights>(job.task) && --left.open == 0) {
        worker.open.erase(microbatch);
      }
      if (--left.all == 0) {
        worker.begun.erase(microbatch);
        if (worker.back.erase(microbatch) == 0) ++worker.backwards;  // it had none here
      }
    }
    if (plan::is<plan::Forward>(job.task)) {
      --worker.forwards;
      const std::int64_t microbatch = microbatch_of(instance);
      if (--left_of(job.worker, microbatch).forwards == 0) worker.half.erase(microbatch);
    }
    for (std::size_t u = first_user_[index]; u < first_user_[index + 1]; ++u) {
      const User& user = users_[u];
      const std::size_t later = minibatch + static_cast<std::size_t>(user.earlier);
      if (later >= minibatches()) continue;
      const std::size_t next = later * count_ + static_cast<std::size_t>(user.job);
      ready_at_[next] = std::max(ready_at_[next], now_ + user.seconds);
      if (--waits_[next] == 0) arrive_.emplace(ready_at_[next], next);
    }
  }

  void dispatch() {
    for (const int index : dirty_) {
      Worker& worker = workers_[static_cast<std::size_t>(index)];
      if (worker.busy) continue;
      for (auto one = worker.ready.begin(); one != worker.ready.end(); ++one) {
        const std::size_t instance = std::get<2>(*one);
        const Job& job = jobs_[instance % count_];
        const std::int64_t microbatch = microbatch_of(instance);
        if (!may_begin(index, job, microbatch)) continue;
        note_begin(worker, job, microbatch);
        worker.busy = true;
        start_[instance] = now_;
        end_.emplace(now_ + job.seconds, instance);
        worker.ready.erase(one);
        break;
      }
    }
    dirty_.clear();
  }

  /// Where replicas wait for each other's turn, or a forward for an update behind a backward: one
  /// worker takes a backward out of turn.
  bool take_any_turn() {
    const bool has_turns = options_.urgency == Urgency::in_turn || options_.whole_forwards;
    if (!has_turns || done_ == waits_.size()) return false;
    any_turn_ = true;
    for (int worker = 0; worker < static_cast<int>(workers_.size()) && end_.empty(); ++worker) {
      dirty_.insert(worker);
      dispatch();
    }
    any_turn_ = false;
    return !end_.empty();
  }

  /// Microbatches that begin here, over all minibatches.
  std::size_t to_admit(const Worker& worker) const { return worker.own.size() * minibatches(); }

  bool may_begin(int index, const Job& job, std::int64_t microbatch) {
    const auto at = static_cast<std::size_t>(index);
    const Worker& worker = workers_[at];
    const auto limit = static_cast<std::size_t>(options_.in_flight[at]);
    const std::size_t ahead = worker.admitted - worker.backwards;
    if (!held_.may_begin(job, microbatch, worker.begun.contains(microbatch))) return false;
    if (plan::is<plan::Forward>(job.task) && worker.admitted < to_admit(worker)) {
      if (microbatch > next_of(worker)) return false;
      if (microbatch < next_of(worker) || worker.begun.contains(microbatch)) return true;
      if (options_.urgency == Urgency::in_turn) return ahead < limit;
      const bool open =
          options_.open.empty() || worker.open.size() < static_cast<std::size_t>(options_.open[at]);
      return open && worker.begun.size() < limit;
    }
    if (plan::is<plan::BackwardData>(job.task) && !worker.back.contains(microbatch)) {
      if (options_.whole_forwards && !any_turn_ && !worker.half.empty()) return false;
      if (options_.urgency == Urgency::all_forwards) return worker.forwards == 0;
      if (options_.urgency == Urgency::in_turn) {
        return any_turn_ || ahead >= limit || worker.admitted == to_admit(worker);
      }
    }
    return true;
  }

  void note_begin(Worker& worker, const Job& job, std::int64_t microbatch) {
    if (plan::is<plan::Forward>(job.task) && worker.admitted < to_admit(worker) &&
        microbatch == next_of(worker)) {
      ++worker.admitted;
    }
    if (!counts(job)) return;
    held_.note_begin(job, microbatch);
    if (worker.begun.insert(microbatch).second) worker.open.insert(microbatch);
    if (plan::is<plan::Forward>(job.task)) worker.half.insert(microbatch);
    if (plan::is<plan::BackwardData>(job.task) && worker.back.insert(microbatch).second) {
      ++worker.backwards;
    }
  }

  double end_of(std::size_t minibatch) const {
    double end = 0;
    for (std::size_t j = 0; j < count_; ++j) {
      end = std::max(end, start_[minibatch * count_ + j] + jobs_[j].seconds);
    }
    return end;
  }

  SelfTimed summary() const {
    const std::size_t middle = minibatches() / 2;
    const std::size_t shown = middle + static_cast<std::size_t>(options_.sample);
    const auto from = start_.begin() + static_cast<std::ptrdiff_t>(shown * count_);
    SelfTimed result{.start = {from, from + static_cast<std::ptrdiff_t>(count_)},
                     .period = end_of(middle)};
    if (minibatches() > 1) {
      const std::size_t early = middle / 2;
      result.period = (end_of(middle) - end_of(early)) /
                      static_cast<double>(std::max<std::size_t>(1, middle - early));
    }
    return result;
  }

  const std::vector<Job>& jobs_;
  std::size_t microbatches_;
  const SelfTimedOptions& options_;
  HeldPieces held_;
  std::size_t count_;  ///< jobs of a minibatch; instance = minibatch * count + job
  std::vector<Worker> workers_;
  std::vector<int> microbatch_;  ///< by job
  std::vector<int> waits_;       ///< jobs an instance still waits for
  std::vector<double> ready_at_;
  std::vector<double> start_;
  std::vector<std::size_t> first_user_;  ///< by job: of users_
  std::vector<User> users_;
  std::vector<Left> left_;  ///< by worker and microbatch
  Events arrive_;
  Events end_;
  std::set<int> dirty_;  ///< workers for whom something has changed
  double now_ = 0;
  bool any_turn_ = false;
  std::size_t done_ = 0;
};

}  // namespace

SelfTimed play(const lower::Graph& graph, const SelfTimedOptions& options) {
  return Player(graph, options).run();
}

}  // namespace plait::strategy::pipeline
