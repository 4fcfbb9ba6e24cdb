// Link: the time a message takes from one pretended node to another. It keeps a clock, moves
// nothing and sleeps never.
#pragma once

#include <chrono>
#include <mutex>

#include "transport/threads.hpp"

namespace plait::transport::threads {

using Clock = std::chrono::steady_clock;

/// The default is a message that never was on a link.
struct Passage {
  Clock::time_point departed{};  ///< its last byte has left
  Clock::time_point arrived{};
};

/// All that leaves one node: one message at a time, in the order of the calls.
class Link {
 public:
  explicit Link(const LinkModel& model) : model_(model) {}
  Passage pass(std::size_t bytes);

 private:
  LinkModel model_;
  std::mutex mutex_;
  Clock::time_point free_{};
};

}  // namespace plait::transport::threads
