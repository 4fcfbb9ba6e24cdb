// Lock-free writes and reads of a worker's status on the board.
#include "run/status.hpp"

#include <chrono>

namespace plait::run {

namespace {

std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace

void WorkerStatus::set(WorkerState next) {
  state.store(static_cast<std::int64_t>(next), std::memory_order_relaxed);
  since_ns.store(now_ns(), std::memory_order_relaxed);
}

void WorkerStatus::begin_task(std::int64_t next_task, std::int64_t next_minibatch,
                              std::int64_t next_step) {
  task.store(next_task, std::memory_order_relaxed);
  minibatch.store(next_minibatch, std::memory_order_relaxed);
  step.store(next_step, std::memory_order_relaxed);
  set(WorkerState::working);
}

WorkerStatus& status_of(transport::Board& board, int member) {
  return *reinterpret_cast<WorkerStatus*>(board.piece(member).data());
}

bool take_last_word(transport::Board& board) {
  return status_of(board, board.members().front()).said.exchange(1) == 0;
}

bool last_word_taken(transport::Board& board) {
  return status_of(board, board.members().front()).said.load() != 0;
}

}  // namespace plait::run
