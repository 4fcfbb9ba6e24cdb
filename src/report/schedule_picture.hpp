// A trace as a picture: one SVG file with a lane per worker and a rectangle per piece of work, so
// that a schedule and its bubbles can be seen. For simulated and for measured traces.
#pragma once

#include <optional>
#include <string>

#include "plan/plan.hpp"
#include "trace/trace.hpp"

namespace plait::report {

struct PictureOptions {
  int width = 1600;               ///< pixels; less than 480 is drawn as 480
  std::optional<double> begin{};  ///< seconds of the trace; left away: its first event
  std::optional<double> end{};    ///< left away: its last event
  int max_workers = 64;           ///< the first ones; the picture says how many it left out
};

/// Equal arguments, equal text. What is too narrow to be seen is drawn together with its
/// neighbours, so the number of rectangles is bounded whatever the number of events. The trace must
/// be of this plan. UserError where `begin` and `end` leave no time between them.
std::string schedule_picture(const plan::Plan& plan, const trace::Trace& trace,
                             const PictureOptions& options = {});

/// UserError where the file cannot be made, Failure where it cannot be written to its end.
void write_schedule_picture(const std::string& path, const plan::Plan& plan,
                            const trace::Trace& trace, const PictureOptions& options = {});

}  // namespace plait::report
