// The engine thread's loop: takes operations, drives MPI, wakes the members that wait, and ends the
// job on an abort.
#include "transport/mpi/engine.hpp"

#include <sys/prctl.h>

#include <chrono>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "transport/group.hpp"

namespace plait::transport::mpi {

Engine::Engine(MPI_Comm comm) : wires_(comm), thread_([this] { run(); }) {}

void Engine::submit(const OperationPtr& operation) {
  {
    const Lock lock(mutex_);
    if (abort_) throw Aborted(*abort_);
    submitted_.push_back(operation);
  }
  work_.notify_one();
}

void Engine::wait(const Operation& operation) {
  Lock lock(mutex_);
  ++sleepers_;
  done_.wait(lock, [&] { return ended_ || (operation.finished && !abort_); });
  --sleepers_;
  if (ended_) throw Aborted(*abort_);
  if (!operation.error.empty()) throw Failure(operation.error);
}

bool Engine::done(const Operation& operation) const {
  const Lock lock(mutex_);
  return operation.finished || ended_;
}

double Engine::done_at(const Operation& operation) const {
  const Lock lock(mutex_);
  return operation.finished_at;
}

void Engine::abort(const std::string& reason) {
  {
    const Lock lock(mutex_);
    if (abort_) return;
    abort_ = reason;
  }
  work_.notify_one();
}

bool Engine::aborted() const {
  const Lock lock(mutex_);
  return abort_.has_value();
}

void Engine::stop() {
  {
    const Lock lock(mutex_);
    stop_ = true;
  }
  work_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void Engine::run() {
  prctl(PR_SET_TIMERSLACK, 1000UL);  // nanoseconds; a pause of 20 us would last 70 otherwise
  try {
    serve();
    if (!aborted()) wires_.close();
  } catch (const std::exception& error) {
    abort(error.what());
  }
  if (aborted()) end_job();
}

void Engine::serve() {
  int fruitless = 0;
  while (true) {
    const std::vector<OperationPtr> operations = next_operations();
    if (leaving()) return;
    for (const OperationPtr& operation : operations) wires_.begin(operation);
    const bool moved = wires_.progress();
    publish(wires_.finished());
    if (wires_.abort_heard()) {
      abort(*wires_.abort_heard());
      const Lock lock(mutex_);
      heard_ = abort_ == wires_.abort_heard();
      return;
    }
    fruitless = moved || !operations.empty() ? 0 : fruitless + 1;
    if (fruitless > 0) pause(fruitless);
  }
}

std::vector<OperationPtr> Engine::next_operations() {
  Lock lock(mutex_);
  if (wires_.idle()) work_.wait(lock, [&] { return !submitted_.empty() || abort_ || stop_; });
  return std::exchange(submitted_, {});
}

bool Engine::leaving() const {
  const Lock lock(mutex_);
  return abort_.has_value() || (stop_ && wires_.all_sent());
}

void Engine::publish(const std::vector<OperationPtr>& finished) {
  if (finished.empty()) return;
  const double now = now_seconds();
  {
    const Lock lock(mutex_);
    for (const OperationPtr& operation : finished) {
      operation->finished = true;
      operation->finished_at = now;
    }
  }
  done_.notify_all();
}

/// First gives way to others, then sleeps: shortly if members sleep too, longer if they compute.
void Engine::pause(int fruitless) {
  constexpr int kYields = 20;
  constexpr std::chrono::microseconds kWaitedFor(20);
  constexpr std::chrono::microseconds kUnattended(100);
  if (fruitless <= kYields) {
    std::this_thread::yield();
    return;
  }
  Lock lock(mutex_);
  const auto pause = sleepers_ > 0 ? kWaitedFor : kUnattended;
  work_.wait_for(lock, pause, [&] { return !submitted_.empty() || abort_ || stop_; });
}

/// Tells the others, and sees to it that MPI is done with the members' memory, as far as that can
/// be had in a tenth of a second. From then on this process makes no MPI calls.
void Engine::end_job() {
  constexpr double kLongest = 0.1;
  try {
    if (!heard_) wires_.tell_abort(*abort_);
    wires_.cancel_receives();
    const Stopwatch watch;
    while (!wires_.quiet() && watch.seconds() < kLongest) {
      if (!wires_.progress()) std::this_thread::yield();
    }
  } catch (const std::exception&) {  // the job ends anyway, and its reason is known
  }
  {
    const Lock lock(mutex_);
    ended_ = true;
  }
  done_.notify_all();
}

}  // namespace plait::transport::mpi
