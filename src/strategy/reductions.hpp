// Reductions of one worker's gradients, running statistics or updated weights over a group, in
// buckets and in three moves that overlap with what else the worker does.
#pragma once

#include "plan/plan.hpp"

namespace plait::strategy {

/// Blocks in the order in which their gradients become complete; buckets are closed as soon as they
/// hold `bucket_bytes` on the wire.
std::vector<plan::Bucket> gradient_buckets(const plan::Network& network,
                                           const std::vector<int>& blocks,
                                           std::int64_t bucket_bytes, int wire_bytes);

/// The running statistics among these blocks as one bucket; without blocks where there are none.
plan::Bucket state_bucket(const plan::Network& network, const std::vector<int>& blocks);

/// Appends to a program: start(j) is followed by sum(j - 1) and finish(j - 2).
class OverlappedReductions {
 public:
  /// The buckets first .. last - 1 of the plan, over `group`, in this order.
  struct Range {
    int group = 0;
    int first = 0;
    int last = 0;
  };
  OverlappedReductions(const plan::Plan& plan, const Range& range, bool update_at_once,
                       std::vector<plan::Task>& tasks)
      : plan_(plan),
        range_(range),
        update_at_once_(update_at_once),
        tasks_(tasks),
        started_(range.first),
        summed_(range.first),
        finished_(range.first) {}

  /// Starts the next bucket, the running statistics', if there is one.
  void state_ready();
  /// Starts the next bucket if `block` is the last one it was waiting for.
  void block_ready(int block);
  /// What is under way at the end of backward, in order.
  void drain();

 private:
  const plan::Bucket& bucket(int index) const {
    return plan_.buckets[static_cast<std::size_t>(index)];
  }
  void append(plan::Move move, int index);
  void start();
  void finish();

  const plan::Plan& plan_;
  Range range_;
  bool update_at_once_;
  std::vector<plan::Task>& tasks_;
  int started_;
  int summed_;
  int finished_;
};

}  // namespace plait::strategy
