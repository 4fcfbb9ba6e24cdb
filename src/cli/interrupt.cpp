// The signal handler and its static flags; restores the previous handlers.
#include "cli/interrupt.hpp"

#include "base/out_file.hpp"

namespace plait::cli {

namespace {

// A signal handler can reach nothing but static storage.
std::atomic<bool> raised{false};
std::atomic<int> caught{0};
std::atomic<bool> writes_end{false};  // a CleanInterrupt lives
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<int>::is_always_lock_free);

extern "C" void plait_on_signal(int number) {
  caught = number;
  raised = true;
  if (writes_end) cancel_writes();
  struct sigaction end {};
  end.sa_handler = SIG_DFL;
  sigaction(SIGINT, &end, nullptr);
  sigaction(SIGTERM, &end, nullptr);
  sigaction(SIGHUP, &end, nullptr);
}

/// A signal that the parent chose to ignore (nohup, a job in the background) stays ignored.
void install(int number, struct sigaction& old) {
  struct sigaction action {};
  action.sa_handler = plait_on_signal;
  action.sa_flags = SA_RESTART;
  sigaction(number, nullptr, &old);
  if (old.sa_handler != SIG_IGN) sigaction(number, &action, nullptr);
}

}  // namespace

InterruptGuard::InterruptGuard() {
  raised = false;
  caught = 0;
  install(SIGINT, old_interrupt_);
  install(SIGTERM, old_terminate_);
  install(SIGHUP, old_hangup_);
}

InterruptGuard::~InterruptGuard() {
  sigaction(SIGINT, &old_interrupt_, nullptr);
  sigaction(SIGTERM, &old_terminate_, nullptr);
  sigaction(SIGHUP, &old_hangup_, nullptr);
}

const std::atomic<bool>* InterruptGuard::flag() const { return &raised; }

int InterruptGuard::signal() const { return caught; }

CleanInterrupt::CleanInterrupt() { writes_end = true; }

CleanInterrupt::~CleanInterrupt() {
  writes_end = false;
  if (guard_.signal() != 0) raise(guard_.signal());  // its handler is the default again
}

}  // namespace plait::cli
