// Ctrl-C and SIGTERM as a flag that the training loop looks at. The first signal raises the flag,
// the second ends the process at once.
#pragma once

#include <signal.h>

#include <atomic>

namespace plait {

/// While it lives, signals are caught. One at a time: a process has only one set of signal
/// handlers.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

  const std::atomic<bool>* flag() const;
  /// The signal caught, 0 before.
  int signal() const;

 private:
  struct sigaction old_interrupt_ {};
  struct sigaction old_terminate_ {};
  struct sigaction old_hangup_ {};
};

}  // namespace plait
