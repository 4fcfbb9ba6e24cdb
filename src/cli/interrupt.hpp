// Ctrl-C, SIGTERM and SIGHUP: as a flag that the training loop reads, or as an end without files
// half written. The second signal ends the process at once.
#pragma once

#include <signal.h>

#include <atomic>

namespace plait::cli {

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

/// While it lives, a signal lets the next write fail, so that the files and folders written aside
/// are removed; its destructor then ends the process by that signal.
class CleanInterrupt {
 public:
  CleanInterrupt();
  ~CleanInterrupt();
  CleanInterrupt(const CleanInterrupt&) = delete;
  CleanInterrupt& operator=(const CleanInterrupt&) = delete;

 private:
  InterruptGuard guard_;
};

}  // namespace plait::cli
