// SignalGuard: a scope that keeps the signal mask and the handling of SIGPIPE as they were.
#pragma once

#include <pthread.h>

#include <csignal>

namespace plait::report {

/// Keeps what a scope does to the calling thread's signal mask and to SIGPIPE inside it: threads
/// made in it take no signals, and httplib::Server's choice to ignore SIGPIPE is undone.
class SignalGuard {
 public:
  SignalGuard() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &mask_);
    sigaction(SIGPIPE, nullptr, &pipe_);
  }
  ~SignalGuard() {
    sigaction(SIGPIPE, &pipe_, nullptr);
    pthread_sigmask(SIG_SETMASK, &mask_, nullptr);
  }
  SignalGuard(const SignalGuard&) = delete;
  SignalGuard& operator=(const SignalGuard&) = delete;

 private:
  sigset_t mask_{};
  struct sigaction pipe_ {};
};

}  // namespace plait::report
