// What a worker is doing, written by it and read by the watch, also from other processes and after
// the worker's death: plain lock-free numbers on the transport's board.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>

#include "transport/board.hpp"

namespace plait::run {

enum class WorkerState : std::int64_t {
  absent,     ///< not begun
  working,    ///< in the task
  waiting,    ///< in the task, for another worker
  elsewhere,  ///< between steps
  unhurried,  ///< evaluating or saving, or waiting for workers that do
  finished
};

/// Lives in zeroed memory of the board; never constructed.
struct WorkerStatus {
  std::atomic<std::int64_t> state;
  std::atomic<std::int64_t> task;  ///< position in the worker's program
  std::atomic<std::int64_t> minibatch;
  std::atomic<std::int64_t> step;
  std::atomic<std::int64_t> since_ns;  ///< monotonic clock, of the last change; 0: none yet
  std::atomic<std::int64_t> said;      ///< on the first piece of a node: its last word is taken

  void set(WorkerState next);
  void begin_task(std::int64_t next_task, std::int64_t next_minibatch, std::int64_t next_step);
};
static_assert(std::atomic<std::int64_t>::is_always_lock_free);

constexpr std::size_t kStatusBytes = 64;
static_assert(sizeof(WorkerStatus) <= kStatusBytes);

WorkerStatus& status_of(transport::Board& board, int member);

/// True for one caller only on each node: it says why the job ends, and ends it.
bool take_last_word(transport::Board& board);
bool last_word_taken(transport::Board& board);

}  // namespace plait::run
