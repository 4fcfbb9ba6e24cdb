// What a schedule picture draws of a worker: events, gathered into as few bars as the eye can tell
// apart.
#pragma once

#include <string_view>
#include <vector>

#include "plan/plan.hpp"
#include "trace/trace.hpp"

namespace plait::report {

/// A colour of the picture, in the order of the legend.
enum class Shade : std::uint8_t {
  forward,
  loss,
  backward_data,
  backward_weights,
  update,
  communicate,
  other,  ///< computing that is none of the above: loading
  wait,
};

/// Of a task in a trace; a wait is a wait whatever for.
Shade shade_of(const plan::Task& task, trace::Activity activity);
std::string_view name_of(Shade shade);

/// What a bar has of one shade.
struct BarPart {
  Shade shade = Shade::other;
  int first = 0;  ///< position in the worker's program
  int last = 0;
  double seconds = 0;
};

struct Bar {
  double begin = 0;
  double end = 0;
  std::int64_t minibatch = 0;
  plan::Samples samples{};       ///< the whole minibatch for tasks that take no samples
  bool several = false;          ///< of more minibatches or parts than these
  std::vector<BarPart> parts{};  ///< one per shade, by first appearance; never empty

  double seconds() const { return end - begin; }
};

struct TimeWindow {
  double begin = 0;
  double end = 0;
  double seconds() const { return end - begin; }
};

/// In seconds.
struct BarLimits {
  double narrow = 0;   ///< a shorter bar or gap cannot be seen
  double crowded = 0;  ///< shorter computing beside others of its kind cannot be read
};

/// Bars of one worker inside the window, in the order of time. Neighbours of one shade, minibatch
/// and part are one bar. So are crowded ones of one minibatch and part whatever their shade
/// (backward_data and backward_weights in turn), waits and communication apart. What is narrow goes
/// into a neighbour, unless it has none. Events of no length are left out.
std::vector<Bar> bars_of(const plan::Program& program, const trace::WorkerTrace& trace,
                         TimeWindow window, BarLimits limits);

/// Seconds of computing inside the window.
double compute_seconds(const trace::WorkerTrace& trace, TimeWindow window);

/// From the first begin to the last end; empty (0 .. 0) without events.
TimeWindow extent(const trace::Trace& trace);

/// Seconds from one minibatch's last update to the next one's in the steady state, counted as the
/// simulator does. 0 without events.
double step_seconds(const plan::Plan& plan, const trace::Trace& trace);

}  // namespace plait::report
