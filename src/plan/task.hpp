// Task: one thing a worker does in a step. A small plain value; what it reads and writes follows
// from it (accesses.hpp).
#pragma once

#include <cstdint>
#include <string_view>

namespace plait {

enum class TaskKind : std::uint8_t {
  load,              ///< input and targets of `samples`
  forward,           ///< of `block`
  loss,              ///< of the logits: value, and gradient of the mean over the whole minibatch
  backward_data,     ///< of `block`
  backward_weights,  ///< of `block`; after backward_data
  clip,              ///< norm of all gradients this worker updates; scales the updates that follow
  update,            ///< of `block`: weights <- weights, gradient
  send,              ///< `tensor` or its gradient to worker `peer`
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
  bool gradient = false;  ///< send, receive: the gradient of `tensor` instead of its value
  /// Not the first microbatch: backward adds to the gradient, forward leaves the running statistics
  /// alone, so that they move once per minibatch.
  bool accumulate = false;
  int block = -1;
  int tensor = -1;
  int peer = -1;
  int group = -1;   ///< index of Plan::groups
  int bucket = -1;  ///< index of Plan::buckets
  Samples samples{};
  int offset = 0;  ///< at step t the task works on minibatch t - offset
  int every = 1;   ///< runs at the steps t with t % every == phase
  int phase = 0;
  bool operator==(const Task&) const = default;

  bool runs_at(std::int64_t step) const { return step % every == phase; }
};

}  // namespace plait
