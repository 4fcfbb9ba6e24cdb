// Merges events of a worker into bars that are wide enough to see.
#include "report/schedule_picture_bars.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

namespace plait::report {

namespace {

/// Bars too narrow to be seen are gathered until they are this many times the narrowest.
constexpr double kGathered = 4;
/// A bar is named after its longest work as long as the rest is a smaller share than this.
constexpr double kNegligible = 0.1;

class Bars {
 public:
  explicit Bars(BarLimits limits) : limits_(limits) {}

  void add(Bar bar) {
    if (!bars_.empty() && touch(bars_.back(), bar) && same_work(bars_.back(), bar) &&
        bars_.back().parts.front().shade == bar.parts.front().shade) {
      absorb(bars_.back(), bar);
    } else {
      bars_.push_back(std::move(bar));
    }
  }

  std::vector<Bar> take() {
    gather_crowded();
    gather_narrow();
    return std::move(bars_);
  }

 private:
  bool touch(const Bar& left, const Bar& right) const {
    return right.begin - left.end < limits_.narrow;
  }
  bool is_narrow(const Bar& bar) const { return bar.seconds() < limits_.narrow; }
  bool is_crowded(const Bar& bar) const {
    const Shade shade = bar.parts.front().shade;
    if (shade == Shade::wait || shade == Shade::communicate) return is_narrow(bar);
    return bar.seconds() < limits_.crowded;
  }
  static bool same_work(const Bar& left, const Bar& right) {
    return left.minibatch == right.minibatch && left.samples == right.samples;
  }

  static void absorb(Bar& into, const Bar& bar) {
    const bool longer = bar.seconds() > into.seconds();
    if (!same_work(into, bar)) {
      const double shorter = longer ? into.seconds() : bar.seconds();
      into.several =
          (longer ? bar : into).several || shorter > kNegligible * (into.seconds() + bar.seconds());
      if (longer) {
        into.minibatch = bar.minibatch;
        into.samples = bar.samples;
      }
    }
    into.end = std::max(into.end, bar.end);
    for (const BarPart& part : bar.parts) {
      const auto found = std::ranges::find(into.parts, part.shade, &BarPart::shade);
      if (found == into.parts.end()) {
        into.parts.push_back(part);
      } else {
        found->last = part.last;
        found->seconds += part.seconds;
      }
    }
  }

  void gather_crowded() {
    std::vector<Bar> gathered;
    bool open = false;
    for (Bar& bar : bars_) {
      const bool crowded = is_crowded(bar);
      if (open && crowded && touch(gathered.back(), bar) && same_work(gathered.back(), bar)) {
        absorb(gathered.back(), bar);
      } else {
        gathered.push_back(std::move(bar));
      }
      open = crowded;
    }
    bars_ = std::move(gathered);
  }

  /// What is narrow, whatever it is: first with its like, so that a long bar swallows only
  /// what is alone beside it.
  void gather_narrow() {
    std::vector<Bar> gathered;
    for (std::size_t i = 0; i < bars_.size(); ++i) {
      Bar bar = std::move(bars_[i]);
      if (is_narrow(bar)) {
        while (i + 1 < bars_.size() && is_narrow(bars_[i + 1]) && touch(bar, bars_[i + 1]) &&
               bar.seconds() < kGathered * limits_.narrow) {
          absorb(bar, bars_[++i]);
        }
      }
      if (!gathered.empty() && touch(gathered.back(), bar) &&
          (is_narrow(bar) || is_narrow(gathered.back()))) {
        absorb(gathered.back(), bar);
      } else {
        gathered.push_back(std::move(bar));
      }
    }
    bars_ = std::move(gathered);
  }

  BarLimits limits_;
  std::vector<Bar> bars_;
};

/// Never less than 0, also of moments that are no numbers.
double seconds_inside(const trace::Event& event, TimeWindow window) {
  const double seconds = std::min(event.end, window.end) - std::max(event.begin, window.begin);
  return seconds > 0 ? seconds : 0;
}

Shade compute_shade(plan::TaskKind kind) {
  switch (kind) {
    case plan::TaskKind::forward: return Shade::forward;
    case plan::TaskKind::loss: return Shade::loss;
    case plan::TaskKind::backward_data: return Shade::backward_data;
    case plan::TaskKind::backward_weights: return Shade::backward_weights;
    case plan::TaskKind::add_gradient:
    case plan::TaskKind::clip:
    case plan::TaskKind::update: return Shade::update;
    default: return Shade::other;
  }
}

}  // namespace

Shade shade_of(const plan::Task& task, trace::Activity activity) {
  switch (activity) {
    case trace::Activity::wait: return Shade::wait;
    case trace::Activity::communicate: return Shade::communicate;
    case trace::Activity::compute: break;
  }
  return compute_shade(plan::kind_of(task));
}

std::string_view name_of(Shade shade) {
  switch (shade) {
    case Shade::forward: return "forward";
    case Shade::loss: return "loss";
    case Shade::backward_data: return "backward_data";
    case Shade::backward_weights: return "backward_weights";
    case Shade::update: return "update, clip";
    case Shade::communicate: return "communication";
    case Shade::other: return "load, other";
    case Shade::wait: return "wait";
  }
  return "";
}

std::vector<Bar> bars_of(const plan::Program& program, const trace::WorkerTrace& trace,
                         TimeWindow window, BarLimits limits) {
  Bars bars(limits);
  for (const trace::Event& event : trace.events()) {
    const double seconds = seconds_inside(event, window);
    if (seconds == 0) continue;
    const plan::Task& task = program.tasks.at(static_cast<std::size_t>(event.task));
    const double begin = std::max(event.begin, window.begin);
    bars.add({.begin = begin,
              .end = begin + seconds,
              .minibatch = event.minibatch,
              .samples = plan::samples_of(task),
              .parts = {{.shade = shade_of(task, event.activity),
                         .first = event.task,
                         .last = event.task,
                         .seconds = seconds}}});
  }
  return bars.take();
}

double compute_seconds(const trace::WorkerTrace& trace, TimeWindow window) {
  double seconds = 0;
  for (const trace::Event& event : trace.events()) {
    if (event.activity == trace::Activity::compute) seconds += seconds_inside(event, window);
  }
  return seconds;
}

TimeWindow extent(const trace::Trace& trace) {
  std::optional<TimeWindow> all;
  for (const trace::WorkerTrace& worker : trace.workers) {
    for (const trace::Event& event : worker.events()) {
      if (!std::isfinite(event.begin) || !std::isfinite(event.end)) continue;
      if (!all) all = {event.begin, event.end};
      all->begin = std::min(all->begin, event.begin);
      all->end = std::max(all->end, event.end);
    }
  }
  return all.value_or(TimeWindow{});
}

double step_seconds(const plan::Plan& plan, const trace::Trace& trace) {
  std::map<std::int64_t, double> updates;
  std::map<std::int64_t, double> events;
  for (std::size_t worker = 0; worker < trace.workers.size(); ++worker) {
    const std::vector<plan::Task>& tasks = plan.programs[worker].tasks;
    for (const trace::Event& event : trace.workers[worker].events()) {
      const bool update = plan::is<plan::Update>(tasks.at(static_cast<std::size_t>(event.task)));
      for (auto* ends : {&events, update ? &updates : nullptr}) {
        if (ends == nullptr) continue;
        const auto [end, is_new] = ends->try_emplace(event.minibatch, event.end);
        if (!is_new) end->second = std::max(end->second, event.end);
      }
    }
  }
  std::vector<double> ends;
  for (const auto& [minibatch, end] : updates.empty() ? events : updates) ends.push_back(end);
  if (ends.empty()) return 0;
  const auto count = static_cast<std::int64_t>(ends.size());
  const std::int64_t first = std::min(std::max<std::int64_t>(1, count / 4), count - 2);
  const std::int64_t last = std::clamp(count - 1 - plan.depth(), first + 1, count - 1);
  const double begin = first >= 0 ? ends[static_cast<std::size_t>(first)] : extent(trace).begin;
  return (ends[static_cast<std::size_t>(last)] - begin) / static_cast<double>(last - first);
}

}  // namespace plait::report
