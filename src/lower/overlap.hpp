// The order of sums that overlap with what else a worker does: start(j) is followed by sum(j - 1)
// and finish(j - 2).
#pragma once

#include <functional>
#include <vector>

#include "plan/plan.hpp"

namespace plait::lower {

/// The buckets first .. last - 1 of a plan, in this order.
class OverlappedSums {
 public:
  using Emit = std::function<void(plan::Move move, int bucket)>;

  OverlappedSums(const plan::Plan& plan, int first, int last, Emit emit)
      : plan_(plan), first_(first), last_(last), emit_(std::move(emit)) {}

  /// Starts the next bucket, the running statistics', if there is one.
  void state_ready() {
    if (started_ < last_ && next().payload == plan::Payload::state) start();
  }
  /// Starts the next bucket if `block` is the last one it was waiting for.
  void block_ready(int block) {
    if (started_ < last_ && next().blocks.back() == block) start();
  }
  /// What is under way at the end, in order.
  void drain() {
    while (summed_ < started_) {
      emit_(plan::Move::sum, summed_++);
      if (finished_ + 1 < summed_) emit_(plan::Move::finish, finished_++);
    }
    while (finished_ < started_) emit_(plan::Move::finish, finished_++);
  }

 private:
  const plan::Bucket& next() const { return plan_.buckets[static_cast<std::size_t>(started_)]; }
  void start() {
    emit_(plan::Move::start, started_++);
    if (started_ >= first_ + 2) emit_(plan::Move::sum, summed_++);
    if (started_ >= first_ + 3) emit_(plan::Move::finish, finished_++);
  }

  const plan::Plan& plan_;
  int first_;
  int last_;
  Emit emit_;
  int started_ = first_;
  int summed_ = first_;
  int finished_ = first_;
};

}  // namespace plait::lower
