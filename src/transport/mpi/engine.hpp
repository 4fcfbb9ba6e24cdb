// Engine: the thread that makes all MPI calls, and the interface for other threads. Members hand it
// operations and sleep until they are finished. It sleeps when nothing is under way, and otherwise
// looks again after pauses that grow, so that processes may share cores.
#pragma once

#include <mpi.h>

#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "transport/mpi/wires.hpp"

namespace plait::transport::mpi {

class Engine {
 public:
  explicit Engine(MPI_Comm comm);
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;
  ~Engine() { stop(); }

  /// These two throw Aborted; wait() also Failure.
  void submit(const OperationPtr& operation);
  void wait(const Operation& operation);
  bool done(const Operation& operation) const;
  /// now_seconds() of when it was finished; 0 before.
  double done_at(const Operation& operation) const;

  /// As Group::abort. After it, when a wait has thrown, MPI does not touch members' memory any
  /// more.
  void abort(const std::string& reason);
  bool aborted() const;
  /// Ends the thread when all that was sent is on its way. Twice is allowed.
  void stop();

 private:
  using Lock = std::unique_lock<std::mutex>;
  void run();
  void serve();
  std::vector<OperationPtr> next_operations();
  bool leaving() const;
  void publish(const std::vector<OperationPtr>& finished);
  void pause(int fruitless);
  void end_job();

  Wires wires_;  ///< of the thread
  mutable std::mutex mutex_;
  std::condition_variable work_;  ///< wakes the thread
  std::condition_variable done_;  ///< wakes members
  std::vector<OperationPtr> submitted_;
  std::optional<std::string> abort_;  ///< asked for, here or elsewhere
  bool heard_ = false;                ///< elsewhere: the others know
  bool ended_ = false;                ///< ... and carried out
  bool stop_ = false;
  int sleepers_ = 0;  ///< members in wait()
  std::thread thread_;
};

}  // namespace plait::transport::mpi
