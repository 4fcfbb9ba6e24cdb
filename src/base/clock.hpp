// Seconds of a monotonic clock, and a stopwatch on them.
#pragma once

#include <chrono>

namespace plait {

inline double now_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

class Stopwatch {
 public:
  double seconds() const { return now_seconds() - begin_; }

 private:
  double begin_ = now_seconds();
};

}  // namespace plait
