#include "run/trace_gather.hpp"

#include <cstring>

namespace plait {

namespace {

constexpr int kEventsTag = 4;

}  // namespace

Trace gather_traces(Group& control, const WorkerTrace& mine) {
  const std::span<const Event> own = mine.events();
  const std::size_t count = own.size();
  std::vector<std::size_t> counts(static_cast<std::size_t>(control.size()));
  control.all_gather(std::as_bytes(std::span(&count, 1)),
                     std::as_writable_bytes(std::span(counts)));
  if (control.rank() != 0) {
    control.isend(std::as_bytes(own), 0, kEventsTag).wait();
    return {};
  }
  Trace trace;
  trace.workers.push_back(mine);
  for (int member = 1; member < control.size(); ++member) {
    std::vector<Event> events(counts[static_cast<std::size_t>(member)]);
    control.irecv(std::as_writable_bytes(std::span(events)), member, kEventsTag).wait();
    WorkerTrace& worker = trace.workers.emplace_back();
    for (const Event& event : events) worker.add(event);
  }
  return trace;
}

}  // namespace plait
