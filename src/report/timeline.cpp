// Columns of begin, length, task and step per worker; whole steps are dropped, oldest first, to
// stay below a limit.
#include "report/timeline.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <map>

#include "report/schedule_picture_bars.hpp"

namespace plait::report {

namespace {

using Json = nlohmann::ordered_json;

constexpr double kTicksPerSecond = 1e7;

std::int64_t ticks(double seconds) { return std::llround(seconds * kTicksPerSecond); }

/// The oldest step from which on at most `most` events are left; beyond the last one if there is
/// none.
std::int64_t first_kept_step(const trace::Trace& trace, std::size_t most) {
  std::map<std::int64_t, std::size_t> count;
  for (const trace::WorkerTrace& worker : trace.workers) {
    for (const trace::Event& event : worker.events()) ++count[event.step];
  }
  std::size_t sum = 0;
  std::int64_t first = count.empty() ? 0 : count.rbegin()->first + 1;
  for (auto step = count.rbegin(); step != count.rend(); ++step) {
    sum += step->second;
    if (sum > most) break;
    first = step->first;
  }
  return first;
}

class Labels {
 public:
  explicit Labels(const plan::Plan& plan) : plan_(plan) {}

  std::size_t of(const plan::Task& task, const trace::Event& event) {
    const Shade shade = shade_of(task, event.activity);
    std::string text = plan::describe(plan_, task);
    const auto [found, is_new] = index_.try_emplace({text, shade}, index_.size());
    if (is_new) {
      list_.push_back({std::move(text), std::string(css_name(shade)), event.bytes});
    }
    return found->second;
  }
  Json take() { return std::move(list_); }

 private:
  static std::string_view css_name(Shade shade) {
    switch (shade) {
      case Shade::forward: return "forward";
      case Shade::loss: return "loss";
      case Shade::backward_data: return "backward_data";
      case Shade::backward_weights: return "backward_weights";
      case Shade::update: return "update";
      case Shade::communicate: return "communication";
      case Shade::other: return "other";
      case Shade::wait: return "waiting";
    }
    return "other";
  }

  const plan::Plan& plan_;
  std::map<std::pair<std::string, Shade>, std::size_t> index_;
  Json list_ = Json::array();
};

Json worker_columns(const plan::Program& program, const trace::WorkerTrace& trace,
                    std::int64_t first_step, double origin, Labels& labels) {
  std::vector<std::size_t> label;
  std::vector<std::int64_t> begin, length, minibatch, step;
  for (const trace::Event& event : trace.events()) {
    if (event.step < first_step) continue;
    const plan::Task& task = program.tasks.at(static_cast<std::size_t>(event.task));
    label.push_back(labels.of(task, event));
    begin.push_back(ticks(event.begin - origin));
    length.push_back(ticks(event.end - origin) - begin.back());
    minibatch.push_back(event.minibatch);
    step.push_back(event.step);
  }
  return {{"label", label},
          {"begin", begin},
          {"length", length},
          {"minibatch", minibatch},
          {"step", step}};
}

}  // namespace

Json timeline_json(const plan::Plan& plan, const trace::Trace& trace, std::size_t most_events) {
  const std::int64_t first = first_kept_step(trace, most_events);
  std::int64_t last = first - 1;
  double origin = INFINITY;
  for (const trace::WorkerTrace& worker : trace.workers) {
    for (const trace::Event& event : worker.events()) {
      if (event.step < first) continue;
      last = std::max(last, event.step);
      origin = std::min(origin, event.begin);
    }
  }
  if (last < first) return nullptr;
  Labels labels(plan);
  Json workers = Json::array();
  for (std::size_t i = 0; i < trace.workers.size(); ++i) {
    workers.push_back(worker_columns(plan.programs.at(i), trace.workers[i], first, origin, labels));
  }
  return {{"first_step", first},
          {"last_step", last},
          {"labels", labels.take()},
          {"workers", std::move(workers)}};
}

}  // namespace plait::report
