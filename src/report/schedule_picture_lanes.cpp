// Places the lanes of a picture and fills them with bars, as many as a browser can bear.
#include "report/schedule_picture_lanes.hpp"

#include <algorithm>
#include <cmath>

#include "base/error.hpp"

namespace plait::report {

namespace {

constexpr double kNodeGap = 6;
constexpr double kLaneGap = 4;
constexpr double kNarrowPixels = 0.5;
constexpr double kCrowdedPixels = 12;
/// Bars of all lanes: about five megabytes.
constexpr std::size_t kMaxBars = 20'000;

/// Their number.
std::size_t make_bars(const LaneRequest& request, BarLimits limits, std::vector<Lane>& lanes) {
  std::size_t count = 0;
  for (Lane& lane : lanes) {
    const auto worker = static_cast<std::size_t>(lane.worker);
    lane.bars = bars_of(request.plan.programs[worker], request.trace.workers[worker],
                        request.window, limits);
    count += lane.bars.size();
  }
  return count;
}

}  // namespace

double busy_share(const trace::WorkerTrace& trace, const TimeWindow& window) {
  if (!(window.seconds() > 0)) return 0;
  return compute_seconds(trace, window) / window.seconds();
}

std::vector<Lane> lanes_of(const LaneRequest& request) {
  const plan::Machine& machine = request.plan.machine;
  std::vector<Lane> lanes;
  double top = request.top;
  for (int worker = 0; worker < request.workers; ++worker) {
    if (worker > 0 && machine.node_of(worker) != machine.node_of(worker - 1)) top += kNodeGap;
    const trace::WorkerTrace& trace = request.trace.workers[static_cast<std::size_t>(worker)];
    lanes.push_back({worker, top, busy_share(trace, request.window)});
    top += request.height + kLaneGap;
  }
  const double pixel = request.window.seconds() / request.width;
  BarLimits limits{.narrow = kNarrowPixels * pixel, .crowded = kCrowdedPixels * pixel};
  while (make_bars(request, limits, lanes) > kMaxBars && limits.narrow < request.window.seconds()) {
    limits = {.narrow = 2 * limits.narrow, .crowded = 2 * limits.crowded};
  }
  return lanes;
}

TimeWindow window_of(const trace::Trace& trace, const PictureOptions& options) {
  const TimeWindow all = extent(trace);
  TimeWindow window{options.begin.value_or(all.begin), 0};
  window.end = options.end.value_or(std::max(all.end, window.begin));
  const bool asked = options.begin || options.end;
  if (!std::isfinite(window.seconds()) || window.seconds() < 0 ||
      (asked && window.seconds() == 0)) {
    user_error("a picture from {} s to {} s shows no time; the trace is from {} s to {} s",
               window.begin, window.end, all.begin, all.end);
  }
  return window;
}

}  // namespace plait::report
