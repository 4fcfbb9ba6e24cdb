// Alarm: the end of a job of threads before its time. Raised once, seen by every wait.
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <string>

#include "transport/group.hpp"

namespace plait::transport::threads {

class Alarm {
 public:
  /// `wake` makes every sleeping wait look again.
  explicit Alarm(std::function<void()> wake) : wake_(std::move(wake)) {}

  /// The first call counts.
  void raise(const std::string& reason) {
    {
      const std::scoped_lock lock(mutex_);
      if (raised_) return;
      reason_ = reason;
      raised_.store(true, std::memory_order_release);
    }
    wake_();
  }
  bool raised() const { return raised_.load(std::memory_order_acquire); }
  /// Throws Aborted if raised.
  void check() const {
    if (raised()) throw Aborted(reason_);
  }

 private:
  std::function<void()> wake_;
  std::mutex mutex_;
  std::string reason_;  ///< fixed once raised
  std::atomic<bool> raised_ = false;
};

}  // namespace plait::transport::threads
