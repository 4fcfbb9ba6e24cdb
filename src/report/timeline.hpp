// A timeline: the events of a trace as the report page draws them, in columns of whole numbers.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "plan/plan.hpp"
#include "trace/trace.hpp"

namespace plait::report {

/// Beyond so many events the oldest steps are left out.
constexpr std::size_t kMostTimelineEvents = 60'000;

/// {first_step, last_step, labels: [[text, shade, bytes], ...], workers: [{label, begin, length,
/// minibatch, step}, ...]}. Times are ticks of 0.1 us from the first event that is kept; a worker's
/// events are in the order of time. null without events, and where a single step has too many.
nlohmann::ordered_json timeline_json(const plan::Plan& plan, const trace::Trace& trace,
                                     std::size_t most_events = kMostTimelineEvents);

/// UserError with `where` unless it is what timeline_json writes.
void check_timeline(const nlohmann::ordered_json& timeline, const std::string& where);

}  // namespace plait::report
