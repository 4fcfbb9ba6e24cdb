// Schedule: what a strategy says of a step. Which task runs on which worker, in which order. Loads,
// messages, sums of gradients and updates are not its concern: lower.hpp inserts them.
#pragma once

#include "plan/plan.hpp"

namespace plait::lower {

/// An item waits for another one, and for its message.
struct Wait {
  int item = 0;
  double seconds = 0;  ///< of the message
  int earlier = 0;     ///< how many minibatches before this one; 0: of the same
};

/// One task on one worker.
struct Item {
  plan::Task task{};
  int worker = 0;
  /// The later item of the worker behind which messages with its results leave; -1: itself.
  int sent_behind = -1;
  double seconds = 0;  ///< of the task; lowering's, where asked for
  /// What it waits for: what a strategy asks for beside what lowering finds.
  std::vector<Wait> after{};
};

/// Tensor `tensor` is the rows `list` (of Plan::row_lists) of tensor `of` on another worker; its
/// gradient is added to these rows of the gradient of `of`.
struct RowCopy {
  int tensor = -1;
  int of = -1;
  int list = -1;
};

struct Schedule {
  plan::Plan plan{};  ///< everything but programs, groups and buckets
  /// Forward, loss, backward_data and backward_weights (whether it adds is not asked), in an order
  /// in which one worker could run them all; each worker keeps it. A listed load stays where it is.
  std::vector<Item> items{};
  std::vector<RowCopy> copies{};
  /// The items are those of the first of so many equal replicas. The workers of replica r are as
  /// many behind those of r - 1, and take the r-th part of the samples; what is summed is summed
  /// over all replicas.
  int replicas = 1;
  std::int64_t bucket_bytes = 8 << 20;  ///< of a bucket of gradients, on the wire
  bool half_messages = false;           ///< tensors and their gradients travel as bf16
  bool clip = false;

  /// Of a replica.
  int workers() const { return plan.workers() / replicas; }
  Item& item(int index) { return items[static_cast<std::size_t>(index)]; }
  const Item& item(int index) const { return items[static_cast<std::size_t>(index)]; }
  /// The item behind which results of this one leave.
  int sender(int index) const {
    while (item(index).sent_behind >= 0) index = item(index).sent_behind;
    return index;
  }
};

}  // namespace plait::lower
