// Task: one thing a worker does in a step. A small plain value; what it reads and writes follows
// from it (accesses.hpp).
#pragma once

#include <cstdint>
#include <string_view>

namespace plait {

/// What a value is. Tensors and their gradients are the network's, the others a block's.
enum class Role : std::uint8_t {
  tensor,   ///< index: tensor of the network
  diff,     ///< gradient of that tensor
  targets,  ///< index 0
  saved,    ///< index: block; forward .. its last backward
  pending,  ///< index: block; backward_data .. backward_weights
  partial,  ///< index: block; gradient of one microbatch before it is added
  packed,   ///< index: packed_index(); rows of a tensor, or all of it as bf16, on their way
  weights,  ///< index: block; lives as long as the run, like the next two
  gradient,
  state,
};

std::string_view name_of(Role role);
/// Weights, gradient and state belong to the worker, everything else to one minibatch.
bool is_permanent(Role role);
/// Tensors and diffs are named by a tensor of the network, the others by a block.
constexpr bool is_of_tensor(Role role) { return role == Role::tensor || role == Role::diff; }

enum class TaskKind : std::uint8_t {
  load,              ///< input and targets of `samples`
  forward,           ///< of `block`
  loss,              ///< of the logits: value, and gradient of the mean over the whole minibatch
  backward_data,     ///< of `block`; of a join, for `tensor`
  backward_weights,  ///< of `block`; after backward_data
  clip,              ///< norm of all gradients this worker updates; scales the updates that follow
  update,            ///< of `block`: weights <- weights, gradient
  send,              ///< the value `role` of `tensor` or `block` to worker `peer`
  receive,           ///< the same from worker `peer`
  reduce_start,      ///< sum of `bucket` over `group`, in three moves (transport/reduction.hpp)
  reduce_sum,
  reduce_finish,
};

std::string_view name_of(TaskKind kind);

/// Forward, loss, backward, clip, update: what would be there with one worker too.
bool is_compute(TaskKind kind);
bool is_reduce(TaskKind kind);
/// Clip, update and reduce are of the whole minibatch, whatever their `samples`.
bool takes_samples(TaskKind kind);

/// The samples floor(n begin / of) .. floor(n end / of) of a minibatch of n.
struct Samples {
  int begin = 0;
  int end = 1;
  int of = 1;
  std::int64_t first(std::int64_t n) const { return n * begin / of; }
  std::int64_t last(std::int64_t n) const { return n * end / of; }
  std::int64_t count(std::int64_t n) const { return last(n) - first(n); }
  bool operator==(const Samples&) const = default;
};

/// Part `part` of `parts` equal ones.
constexpr Samples part_of(int part, int parts) { return {part, part + 1, parts}; }

struct Task {
  TaskKind kind = TaskKind::load;
  Role role = Role::tensor;  ///< send, receive: tensor, diff, saved, pending or weights
  /// Not the first microbatch: backward adds to the gradient, forward leaves the running statistics
  /// alone, so that they move once per minibatch. Of a receive with a list: it adds.
  bool accumulate = false;
  bool half = false;  ///< a message of a tensor or diff travels as bf16
  int block = -1;
  /// Of a message; of backward_data of a join: the one of its two whose gradient it adds to.
  int tensor = -1;
  int peer = -1;
  int group = -1;   ///< index of Plan::groups
  int bucket = -1;  ///< index of Plan::buckets
  /// Index of Plan::row_lists: a message carries some rows of a tensor. The owner's side picks
  /// them: a send of a tensor takes the rows of `tensor`, its receive fills all of another one; a
  /// send of a diff is all of that one, its receive puts it into the rows of the owner's diff, or
  /// adds it there (`accumulate`).
  int list = -1;
  Samples samples{};
  /// forward and backward_data of minibatch m read the weights that the update of minibatch
  /// m - 1 - delay left: 0 is plain SGD.
  int delay = 0;
  int offset = 0;  ///< at step t the task works on minibatch t - offset
  int every = 1;   ///< runs at the steps t with t % every == phase
  int phase = 0;
  int mode = -1;        ///< index of Plan::modes: runs in ranges of this mode only; -1: in all
  bool at_end = false;  ///< runs for the last minibatch of a range (an epoch's,
                        ///< a checkpoint's) only
  bool operator==(const Task&) const = default;

  bool runs_at(std::int64_t step) const { return step % every == phase; }
};

/// What tells a message from others between the same two workers, beside role and samples.
constexpr int channel_index(const Task& task) {
  if (task.list >= 0) return -1 - task.list;
  return is_of_tensor(task.role) ? task.tensor : task.block;
}

/// Whether what travels is not the value itself, so that this side needs memory to pack it.
constexpr bool packs(const Task& task) {
  if (task.half) return task.kind == TaskKind::send || task.kind == TaskKind::receive;
  return task.list >= 0 && ((task.kind == TaskKind::send && task.role == Role::tensor) ||
                            (task.kind == TaskKind::receive && task.role == Role::diff));
}
/// Index of the `packed` value of such a task: of rows >= 0, of a tensor as bf16 below.
constexpr int packed_index(const Task& task) {
  if (task.half) return -1 - (2 * task.tensor + (task.role == Role::diff ? 1 : 0));
  return 2 * task.list + (task.kind == TaskKind::receive ? 1 : 0);
}

/// The tensor of a `packed` value with an index below 0.
constexpr int packed_tensor(int index) { return (-1 - index) / 2; }

}  // namespace plait
