// The loop: workers in the order of their time. A worker runs ahead through its own work; whatever
// uses a shared link is done in the order of time, so that links are first come, first served.
#include "simulate/simulate.hpp"

#include <algorithm>
#include <functional>
#include <queue>
#include <span>

#include "base/error.hpp"
#include "simulate/compile.hpp"
#include "simulate/meetings.hpp"
#include "simulate/own_work.hpp"
#include "simulate/summary.hpp"
#include "simulate/worker_state.hpp"

namespace plait::simulate {

namespace {

class Simulator {
 public:
  Simulator(const plan::Plan& plan, const cost::CostModel& cost, const SimulateOptions& options)
      : plan_(plan),
        compiled_(compile(plan, cost)),
        range_{.first = 0, .last = options.minibatches, .mode = options.mode, .ends = false},
        minibatches_(options.minibatches),
        depth_(plan.depth()),
        steps_(options.minibatches + depth_),
        links_(plan.machine),
        workers_(plan.programs.size()),
        messages_(static_cast<std::size_t>(compiled_.channels)),
        reductions_(compiled_.reductions.size()),
        compute_of_(static_cast<std::size_t>(minibatches_)),
        end_of_(static_cast<std::size_t>(minibatches_)) {
    for (std::size_t i = 0; i < reductions_.size(); ++i) {
      reductions_[i].members.resize(static_cast<std::size_t>(spread_of(i).members));
    }
    result_.trace.workers.assign(workers_.size(), trace::WorkerTrace(options.keep_events ? -1 : 0));
    has_updates_ = std::ranges::any_of(plan.programs, [](const plan::Program& program) {
      return std::ranges::any_of(program.tasks, plan::is<plan::Update>);
    });
  }

  Simulation run() {
    for (int worker = 0; worker < plan_.workers(); ++worker) ready_.emplace(0.0, worker);
    while (!ready_.empty()) {
      const auto [now, worker] = ready_.top();
      ready_.pop();
      advance(worker, now);
    }
    if (finished_ < plan_.workers()) fail("{}", blocked_text(plan_, workers_, steps_));
    summarise({.minibatches = minibatches_,
               .depth = depth_,
               .compute = compute_of_,
               .ends = end_of_,
               .messages = messages_sent_},
              result_);
    return std::move(result_);
  }

 private:
  enum class Outcome { done, blocked, too_early };

  WorkerState& state(int worker) { return workers_[static_cast<std::size_t>(worker)]; }
  const Spread& spread_of(std::size_t reduction) const {
    return compiled_.groups[static_cast<std::size_t>(compiled_.reductions[reduction].group)];
  }

  /// Plays the worker's tasks until it is blocked, needs a link later than `now`, or is finished.
  void advance(int worker, double now) {
    WorkerState& self = state(worker);
    const auto index = static_cast<std::size_t>(worker);
    const std::vector<plan::Task>& tasks = plan_.programs[index].tasks;
    const std::vector<CompiledTask>& compiled =
        compiled_.programs[static_cast<std::size_t>(compiled_.program[index])];
    for (; self.step < steps_; ++self.step, self.position = 0) {
      for (; self.position < static_cast<int>(tasks.size()); ++self.position) {
        const auto position = static_cast<std::size_t>(self.position);
        const plan::Task& task = tasks[position];
        const int together = compiled[position].together;
        if (!plan::runs(task.when, self.step, range_)) {
          if (together > 0) self.position += together - 1;
          continue;
        }
        if (together > 0) {
          compute(worker, task,
                  std::span(compiled).subspan(position, static_cast<std::size_t>(together)));
          --self.position;  // which stands behind them now
          continue;
        }
        const Outcome outcome =
            play(worker, task,
                 compiled_.talks[index][static_cast<std::size_t>(compiled[position].talk)], now);
        if (outcome == Outcome::too_early) ready_.emplace(self.time, worker);
        if (outcome != Outcome::done) return;
      }
    }
    ++finished_;
    result_.seconds = std::max(result_.seconds, self.time);
  }

  /// Tasks that run one after the other, beginning with `first`.
  void compute(int worker, const plan::Task& first, std::span<const CompiledTask> tasks) {
    WorkerState& self = state(worker);
    const trace::Event event{.task = self.position,
                             .minibatch = first.when.minibatch_at(self.step),
                             .step = self.step,
                             .begin = self.time};
    const auto minibatch = static_cast<std::size_t>(event.minibatch);
    self.time = play_own_work(tasks, event, result_.trace.workers[static_cast<std::size_t>(worker)],
                              compute_of_[minibatch]);
    self.position += static_cast<int>(tasks.size());
    if (plan::is<plan::Update>(first) || !has_updates_) {
      end_of_[minibatch] = std::max(end_of_[minibatch], self.time);
    }
  }

  Outcome play(int worker, const plan::Task& task, const CompiledTalk& compiled, double now) {
    WorkerState& self = state(worker);
    if (plan::message_of(task) != nullptr && compiled.channel < 0) return Outcome::done;
    if (plan::is<plan::Send>(task)) {
      if (self.time > now) return Outcome::too_early;
      send(worker, task, compiled);
      return Outcome::done;
    }
    if (plan::is<plan::Receive>(task)) {
      const double arrival = messages_[static_cast<std::size_t>(compiled.channel)].take(worker);
      if (arrival == kNotYet) return Outcome::blocked;
      wait_until(worker, task, arrival);
      record(worker, task, compiled);
      return Outcome::done;
    }
    return reduce(worker, task, compiled, now);
  }

  void send(int worker, const plan::Task& task, const CompiledTalk& compiled) {
    const int peer = plan::message_of(task)->peer;
    const double arrival = links_.send(state(worker).time, {worker, peer, compiled.bytes});
    wake(messages_[static_cast<std::size_t>(compiled.channel)].put(arrival), arrival);
    ++messages_sent_;
    record(worker, task, compiled);
  }

  Outcome reduce(int worker, const plan::Task& task, const CompiledTalk& compiled, double now) {
    WorkerState& self = state(worker);
    const auto index = static_cast<std::size_t>(compiled.channel);
    ReductionQueue& queue = reductions_[index];
    ReductionQueue::Member& member = queue.members[static_cast<std::size_t>(compiled.member)];
    const plan::Move move = std::get<plan::Reduce>(task.what).move;
    if (move == plan::Move::start) {
      if (self.time > now) return Outcome::too_early;
      join(index, queue.shards, member.started++, self.time);
      record(worker, task, compiled);
      return Outcome::done;
    }
    if (move == plan::Move::finish) {
      const double arrival = wait_for(queue.gathered, member.finished, worker);
      if (arrival == kNotYet) return Outcome::blocked;
      ++member.finished;
      wait_until(worker, task, arrival);
      record(worker, task, compiled);
      return Outcome::done;
    }
    if (!self.sum_done) {
      const double arrival = wait_for(queue.shards, member.summed, worker);
      if (arrival == kNotYet) return Outcome::blocked;
      wait_until(worker, task, arrival);
      record(worker, task, compiled);
      self.sum_done = true;
    }
    if (self.time > now) return Outcome::too_early;
    self.sum_done = false;
    join(index, queue.gathered, member.summed++, self.time);
    return Outcome::done;
  }

  /// A member has sent its shards; the last one's coming sets the exchange going.
  void join(std::size_t reduction, std::vector<Meeting>& exchanges, int number, double now) {
    const Spread& group = spread_of(reduction);
    Meeting& exchange = exchange_at(exchanges, number);
    if (++exchange.came < group.members) return;
    messages_sent_ += compiled_.reductions[reduction].messages;
    exchange.done = links_.exchange(now, group, compiled_.reductions[reduction].bytes);
    for (const int blocked : exchange.blocked) wake(blocked, exchange.done);
    exchange.blocked = {};
  }

  static double wait_for(std::vector<Meeting>& exchanges, int number, int worker) {
    Meeting& exchange = exchange_at(exchanges, number);
    if (exchange.done == kNotYet) exchange.blocked.push_back(worker);
    return exchange.done;
  }

  /// A blocked worker plays its task once more: what it waited for is known now.
  void wake(int worker, double time) {
    if (worker >= 0) ready_.emplace(std::max(time, state(worker).time), worker);
  }

  void wait_until(int worker, const plan::Task& task, double time) {
    WorkerState& self = state(worker);
    if (time <= self.time) return;
    add_event(worker, {.task = self.position,
                       .activity = trace::Activity::wait,
                       .minibatch = task.when.minibatch_at(self.step),
                       .step = self.step,
                       .begin = self.time,
                       .end = time});
    self.time = time;
  }

  /// The worker's own part of the task.
  void record(int worker, const plan::Task& task, const CompiledTalk& compiled) {
    WorkerState& self = state(worker);
    const trace::Event event{.task = self.position,
                             .activity = trace::Activity::communicate,
                             .minibatch = task.when.minibatch_at(self.step),
                             .step = self.step,
                             .begin = self.time,
                             .end = self.time + compiled.seconds,
                             .bytes = plan::is<plan::Receive>(task) ? 0 : compiled.bytes};
    self.time = event.end;
    add_event(worker, event);
    if (has_updates_) return;
    const auto minibatch = static_cast<std::size_t>(event.minibatch);
    end_of_[minibatch] = std::max(end_of_[minibatch], event.end);
  }

  void add_event(int worker, const trace::Event& event) {
    result_.trace.workers[static_cast<std::size_t>(worker)].add(event);
  }

  const plan::Plan& plan_;
  const Compiled compiled_;
  const plan::MinibatchRange range_;  ///< what a step takes: not what comes once an epoch
  const std::int64_t minibatches_;
  const int depth_;  ///< of the plan
  const std::int64_t steps_;
  LinkState links_;
  std::vector<WorkerState> workers_;
  std::vector<MessageQueue> messages_;
  std::vector<ReductionQueue> reductions_;
  std::vector<double> compute_of_;  ///< by minibatch, of all workers
  std::vector<double> end_of_;      ///< by minibatch: its last update
  using Ready = std::pair<double, int>;
  std::priority_queue<Ready, std::vector<Ready>, std::greater<>> ready_;
  bool has_updates_ = false;
  int finished_ = 0;
  std::int64_t messages_sent_ = 0;
  Simulation result_;
};

}  // namespace

Simulation simulate(const plan::Plan& plan, const cost::CostModel& cost,
                    const SimulateOptions& options) {
  if (options.minibatches < 0) fail("simulate: {} minibatches", options.minibatches);
  if (plan.workers() > plan.machine.workers()) {
    fail("simulate: {} programs for a machine of {} workers", plan.workers(),
         plan.machine.workers());
  }
  return Simulator(plan, cost, options).run();
}

}  // namespace plait::simulate
