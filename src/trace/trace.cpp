// Totals of all events; the events themselves are kept for the last steps only, where a run asks
// for that.
#include "trace/trace.hpp"

namespace plait::trace {

void WorkerTrace::keep(const Event& event) {
  if (keep_steps_ > 0) {
    const std::int64_t too_old = event.step - keep_steps_;
    while (first_ < events_.size() && events_[first_].step <= too_old) ++first_;
    // Moving what is kept costs no more than the events dropped since the last time.
    if (first_ > events_.size() / 2) {
      events_.erase(events_.begin(), events_.begin() + static_cast<std::ptrdiff_t>(first_));
      first_ = 0;
    }
  }
  events_.push_back(event);
}

std::span<const Event> WorkerTrace::events() const { return std::span(events_).subspan(first_); }

std::span<const Event> WorkerTrace::last(std::int64_t steps) const {
  const std::span<const Event> all = events();
  if (all.empty()) return all;
  std::size_t from = all.size();
  while (from > 0 && all[from - 1].step > all.back().step - steps) --from;
  return all.subspan(from);
}

Shares shares(const Totals& totals, double seconds) {
  if (!(seconds > 0)) return {};
  return {.busy = totals.compute / seconds,
          .communication = totals.communicate / seconds,
          .wait = totals.wait / seconds};
}

}  // namespace plait::trace
