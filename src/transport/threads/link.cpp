// The arrival time of a message: the link is busy for size / bandwidth, then the latency passes.
#include "transport/threads/link.hpp"

#include <algorithm>

namespace plait::transport::threads {
namespace {

Clock::duration to_duration(double seconds) {
  constexpr double kLongest = 1e8;  // three years; the clock counts nanoseconds
  return std::chrono::duration_cast<Clock::duration>(
      std::chrono::duration<double>(std::min(seconds, kLongest)));
}

}  // namespace

Passage Link::pass(std::size_t bytes) {
  const Clock::duration on_link = to_duration(static_cast<double>(bytes) / model_.bytes_per_second);
  const std::scoped_lock lock(mutex_);
  free_ = std::max(free_, Clock::now()) + on_link;
  return {.departed = free_, .arrived = free_ + to_duration(model_.latency_seconds)};
}

}  // namespace plait::transport::threads
