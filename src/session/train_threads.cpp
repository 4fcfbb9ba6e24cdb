// A run whose workers are threads of this process, ended in order when one of them fails.
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <thread>

#include "base/error.hpp"
#include "session/member.hpp"
#include "session/prepare.hpp"
#include "session/watch.hpp"
#include "transport/threads.hpp"

namespace plait::session {

namespace {

/// What the watch found, if anything, shared between it and the caller.
class Trouble {
 public:
  void set(const std::string& line) {
    const std::lock_guard lock(mutex_);
    line_ = line;
  }
  std::string line() const {
    const std::lock_guard lock(mutex_);
    return line_;
  }

 private:
  mutable std::mutex mutex_;
  std::string line_;
};

/// Ends the process when workers do not end by themselves.
class LastResort {
 public:
  ~LastResort() {
    {
      const std::lock_guard lock(mutex_);
      calm_ = true;
    }
    changed_.notify_all();
    if (thread_.joinable()) thread_.join();
  }
  void arm() {
    thread_ = std::thread([this] {
      std::unique_lock lock(mutex_);
      if (!changed_.wait_for(lock, kGrace, [this] { return calm_; })) std::_Exit(1);
    });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool calm_ = false;
  std::thread thread_;
};

}  // namespace

TrainResult train_on_threads(const TrainJob& job) {
  check_config(job.config);
  const plan::Machine machine = machine_of(job.config);
  Prepared prepared = prepare(job);
  prepare_plan(job, machine, prepared);
  RunFolder folder = make_folder(job, prepared.plan);
  transport::ThreadWorld world(
      {.nodes = machine.nodes,
       .members_per_node = machine.workers_per_node,
       .between_nodes = {machine.between.bytes_per_second, machine.between.latency_seconds},
       .board_bytes = run::kStatusBytes});
  const int workers = machine.workers();
  std::vector<int> all;
  for (int rank = 0; rank < workers; ++rank) all.push_back(rank);
  trace::Trace trace;
  trace.workers.assign(all.size(), trace::WorkerTrace(job.config.trace_steps));
  TrainResult result;
  Trouble trouble;
  LastResort last_resort;
  const Watch watch(prepared.plan, world.board(),
                    {.stall_seconds = job.config.stall_seconds, .own = all},
                    [&](const std::string& line) {
                      trouble.set(line);
                      job.observer.fatal(line);
                      world.abort(line);
                      last_resort.arm();
                    });
  try {
    transport::run_members(world, [&](int rank) {
      pin(job.config, rank, workers);
      const auto group = world.group(rank);
      const auto control = world.control_group(rank);
      Member member({.job = job,
                     .setup = prepared.setup,
                     .plan = prepared.plan,
                     .group = *group,
                     .control = *control,
                     .status = run::status_of(world.board(), rank),
                     .trace = trace.workers[static_cast<std::size_t>(rank)],
                     .folder = rank == 0 ? &folder : nullptr,
                     .checkpoints = checkpoints_of(folder)});
      TrainResult done = member.run();
      if (rank == 0) result = std::move(done);
    });
  } catch (const transport::Aborted& aborted) {
    fail("{}", aborted.what());
  }
  if (const std::string line = trouble.line(); !line.empty()) fail("{}", line);
  result.plan = prepared.plan;
  result.trace = std::move(trace);
  return result;
}

}  // namespace plait::session
