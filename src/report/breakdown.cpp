// Sums the events of the steps that all workers have, and decides whether one worker is slower than
// its plan and the others.
#include "report/breakdown.hpp"

#include <algorithm>
#include <limits>
#include <map>

#include "base/median.hpp"
#include "report/schedule_picture_bars.hpp"

namespace plait::report {

namespace {

constexpr double kMuchLonger = 1.25;
constexpr double kWorthSaying = 0.1;  // of a step
constexpr std::int64_t kEnoughSteps = 10;
constexpr std::size_t kManySteps = 4;  // one of so many

struct Steps {
  std::int64_t first = 0;
  std::int64_t last = -1;
  std::int64_t count() const { return std::max<std::int64_t>(0, last - first + 1); }
  bool has(std::int64_t step) const { return step >= first && step <= last; }
};

/// Those that no worker has only in part. The oldest of a trace is whole: events are dropped by
/// steps.
Steps common_steps(const trace::Trace& trace) {
  Steps steps{0, -1};
  bool any = false;
  for (const trace::WorkerTrace& worker : trace.workers) {
    if (worker.events().empty()) continue;
    const std::int64_t first = worker.events().front().step;
    const std::int64_t last = worker.events().back().step;
    steps.first = any ? std::max(steps.first, first) : first;
    steps.last = any ? std::min(steps.last, last) : last;
    any = true;
  }
  return steps;
}

double& place_of(WorkerSeconds& seconds, Shade shade) {
  switch (shade) {
    case Shade::forward: return seconds.forward;
    case Shade::backward_data: return seconds.backward_data;
    case Shade::backward_weights: return seconds.backward_weights;
    case Shade::update: return seconds.update;
    case Shade::communicate: return seconds.communication;
    case Shade::wait: return seconds.waiting;
    case Shade::loss:
    case Shade::other: break;
  }
  return seconds.other;
}

class Counter {
 public:
  Counter(const plan::Plan& plan, const trace::Trace& trace)
      : plan_(plan), steps_(common_steps(trace)) {
    const std::size_t workers = plan.programs.size();
    found_.steps = steps_.count();
    found_.workers.resize(workers);
    found_.bytes.assign(workers, std::vector<double>(workers, 0.0));
    found_.compute_by_step.assign(
        workers, std::vector<double>(static_cast<std::size_t>(steps_.count()), 0.0));
    for (std::size_t i = 0; i < trace.workers.size(); ++i) count(i, trace.workers[i]);
  }

  Breakdown take() {
    for (auto& [name, times] : blocks_) {
      (void)name;
      found_.blocks.push_back(std::move(times));
    }
    return std::move(found_);
  }

 private:
  double mean(double sum) const { return sum / static_cast<double>(steps_.count()); }

  void count(std::size_t worker, const trace::WorkerTrace& trace) {
    WorkerSeconds& seconds = found_.workers[worker];
    std::int64_t step = -1;
    std::int64_t play = 0;
    double step_begin = 0;
    double step_end = 0;
    const auto close = [&] {
      if (step >= 0) seconds.span += mean(step_end - step_begin);
    };
    for (const trace::Event& event : trace.events()) {
      if (!steps_.has(event.step)) continue;
      if (event.step != step || event.play != play) {
        close();
        step = event.step;
        play = event.play;
        step_begin = event.begin;
      }
      step_end = event.end;
      const plan::Task& task =
          plan_.programs[worker].tasks.at(static_cast<std::size_t>(event.task));
      const Shade shade = shade_of(task, event.activity);
      place_of(seconds, shade) += mean(event.end - event.begin);
      if (event.activity == trace::Activity::compute) {
        const auto number = static_cast<std::size_t>(event.step - steps_.first);
        found_.compute_by_step[worker][number] += event.end - event.begin;
      }
      add_block(task, shade, mean(event.end - event.begin));
      add_bytes(worker, task, mean(static_cast<double>(event.bytes)));
    }
    close();
  }

  void add_block(const plan::Task& task, Shade shade, double seconds) {
    if (plan::block_of(task) < 0) return;
    if (shade != Shade::forward && shade != Shade::backward_data &&
        shade != Shade::backward_weights) {
      return;
    }
    const plan::NetworkBlock& block =
        plan_.network.blocks[static_cast<std::size_t>(plan::block_of(task))];
    // A piece or a repetition counts for the model's block that it was made of.
    const bool of_model = block.whole >= 0;
    const int home = of_model ? block.whole : plan_.network.home_of(plan::block_of(task));
    BlockTimes& times = blocks_[{!of_model, home}];
    if (times.name.empty()) {
      times.name =
          of_model ? block.whole_name : plan_.network.blocks[static_cast<std::size_t>(home)].name;
    }
    if (shade == Shade::forward) times.forward += seconds;
    if (shade == Shade::backward_data) times.backward_data += seconds;
    if (shade == Shade::backward_weights) times.backward_weights += seconds;
  }

  void add_bytes(std::size_t worker, const plan::Task& task, double bytes) {
    if (bytes <= 0) return;
    std::vector<double>& row = found_.bytes[worker];
    if (const auto* send = std::get_if<plan::Send>(&task.what)) {
      row[static_cast<std::size_t>(send->message.peer)] += bytes;
    } else if (const auto* reduce = std::get_if<plan::Reduce>(&task.what)) {
      const std::vector<int>& group = plan_.groups.at(static_cast<std::size_t>(reduce->group));
      for (const int member : group) {
        if (member == static_cast<int>(worker)) continue;
        row[static_cast<std::size_t>(member)] += bytes / static_cast<double>(group.size() - 1);
      }
    }
  }

  const plan::Plan& plan_;
  Steps steps_;
  Breakdown found_;
  std::map<std::pair<bool, int>, BlockTimes> blocks_;  ///< the model's own first
};

/// Whether the worker is much slower than the others in many steps, not only on the whole: one step
/// in which its core was taken away is no evidence.
bool often_slower(const std::vector<std::vector<double>>& compute_by_step, std::size_t worker) {
  const std::size_t steps = compute_by_step[worker].size();
  std::size_t slower = 0;
  for (std::size_t step = 0; step < steps; ++step) {
    std::vector<double> others;
    for (std::size_t i = 0; i < compute_by_step.size(); ++i) {
      if (i != worker) others.push_back(compute_by_step[i][step]);
    }
    if (compute_by_step[worker][step] > kMuchLonger * median(std::move(others))) ++slower;
  }
  return kManySteps * slower >= steps;
}

double median_of_others(const std::vector<WorkerSeconds>& workers, std::size_t but) {
  std::vector<double> others;
  for (std::size_t i = 0; i < workers.size(); ++i) {
    if (i != but) others.push_back(workers[i].compute());
  }
  return median(std::move(others));
}

}  // namespace

Breakdown break_down(const plan::Plan& plan, const trace::Trace& trace) {
  if (common_steps(trace).count() == 0) return {};
  return Counter(plan, trace).take();
}

std::optional<Straggler> find_straggler(const Breakdown& measured, const Breakdown& planned) {
  const std::vector<WorkerSeconds>& workers = measured.workers;
  if (workers.size() < 2 || measured.steps < kEnoughSteps) return std::nullopt;
  const auto slowest = std::ranges::max_element(workers, {}, &WorkerSeconds::compute);
  const auto at = static_cast<std::size_t>(slowest - workers.begin());
  Straggler found{.worker = static_cast<int>(at),
                  .compute = slowest->compute(),
                  .others = median_of_others(workers, at)};
  if (!(found.compute > kMuchLonger * found.others)) return std::nullopt;
  const double step = std::ranges::max(workers, {}, &WorkerSeconds::span).span;
  if (found.cost() < kWorthSaying * step) return std::nullopt;
  if (!measured.compute_by_step.empty() && !often_slower(measured.compute_by_step, at)) {
    return std::nullopt;
  }
  if (planned.workers.size() == workers.size()) {
    const double usual = median_of_others(planned.workers, at);
    if (usual > 0) found.planned = planned.workers[at].compute() / usual;
  }
  return found;
}

}  // namespace plait::report
