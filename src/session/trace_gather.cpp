// Sends each worker's events to worker 0.
#include "session/trace_gather.hpp"

#include <cstring>

namespace plait::session {

namespace {

constexpr int kEventsTag = 4;

}  // namespace

trace::Trace gather_events(transport::Group& control, std::span<const trace::Event> mine) {
  const std::size_t count = mine.size();
  std::vector<std::size_t> counts(static_cast<std::size_t>(control.size()));
  control.all_gather(std::as_bytes(std::span(&count, 1)),
                     std::as_writable_bytes(std::span(counts)));
  if (control.rank() != 0) {
    control.isend(std::as_bytes(mine), 0, kEventsTag).wait();
    return {};
  }
  trace::Trace trace;
  std::vector<trace::Event> events(mine.begin(), mine.end());
  for (int member = 0; member < control.size(); ++member) {
    if (member > 0) {
      events.resize(counts[static_cast<std::size_t>(member)]);
      control.irecv(std::as_writable_bytes(std::span(events)), member, kEventsTag).wait();
    }
    trace::WorkerTrace& worker = trace.workers.emplace_back();
    for (const trace::Event& event : events) worker.add(event);
  }
  return trace;
}

}  // namespace plait::session
