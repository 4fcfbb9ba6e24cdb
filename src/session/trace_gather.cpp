// Sends each worker's events to worker 0.
#include "session/trace_gather.hpp"

#include <cstring>

namespace plait {

namespace {

constexpr int kEventsTag = 4;

}  // namespace

Trace gather_events(Group& control, std::span<const Event> mine) {
  const std::size_t count = mine.size();
  std::vector<std::size_t> counts(static_cast<std::size_t>(control.size()));
  control.all_gather(std::as_bytes(std::span(&count, 1)),
                     std::as_writable_bytes(std::span(counts)));
  if (control.rank() != 0) {
    control.isend(std::as_bytes(mine), 0, kEventsTag).wait();
    return {};
  }
  Trace trace;
  std::vector<Event> events(mine.begin(), mine.end());
  for (int member = 0; member < control.size(); ++member) {
    if (member > 0) {
      events.resize(counts[static_cast<std::size_t>(member)]);
      control.irecv(std::as_writable_bytes(std::span(events)), member, kEventsTag).wait();
    }
    WorkerTrace& worker = trace.workers.emplace_back();
    for (const Event& event : events) worker.add(event);
  }
  return trace;
}

}  // namespace plait
