// The lanes of a schedule's picture: one per worker, with its bars, from top to bottom.
#pragma once

#include <vector>

#include "plan/plan.hpp"
#include "report/schedule_picture.hpp"
#include "report/schedule_picture_bars.hpp"

namespace plait::report {

struct Lane {
  int worker = 0;
  double top = 0;
  double busy = 0;  ///< share of the time shown
  std::vector<Bar> bars{};
};

/// What the lanes show, and the pixels they have.
struct LaneRequest {
  const plan::Plan& plan;
  const trace::Trace& trace;
  TimeWindow window{};
  int workers = 0;  ///< the first so many
  double top = 0;
  double height = 0;  ///< of one lane
  double width = 0;
};

/// The share of the time shown that the worker computes.
double busy_share(const trace::WorkerTrace& trace, const TimeWindow& window);

std::vector<Lane> lanes_of(const LaneRequest& request);

/// The time that the options ask for, or all of the trace. UserError where it is none.
TimeWindow window_of(const trace::Trace& trace, const PictureOptions& options);

}  // namespace plait::report
