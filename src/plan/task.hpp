// Task: one thing a worker does in a step, as when it runs (when.hpp) and what it does. A small
// plain value; what it reads and writes follows from it (accesses.hpp).
#pragma once

#include <optional>
#include <string_view>
#include <variant>

#include "plan/value.hpp"
#include "plan/when.hpp"

namespace plait::plan {

/// Input and targets.
struct Load {
  Samples samples{};
  bool operator==(const Load&) const = default;
};

/// Forward and backward_data of minibatch m read the weights that the update of minibatch
/// m - 1 - delay left: 0 is plain SGD.
struct Forward {
  int block = -1;
  Samples samples{};
  int delay = 0;
  bool moves_state = true;  ///< running statistics: by one microbatch of each minibatch only
  bool operator==(const Forward&) const = default;
};

/// Of the logits: value, and gradient of the mean over the whole minibatch.
struct Loss {
  Samples samples{};
  bool operator==(const Loss&) const = default;
};

struct BackwardData {
  int block = -1;
  int tensor = -1;  ///< of a sum: the one whose gradient it makes; -1: all of them
  Samples samples{};
  int delay = 0;
  bool makes(int of) const { return tensor < 0 || tensor == of; }
  bool operator==(const BackwardData&) const = default;
};

/// After backward_data.
struct BackwardWeights {
  int block = -1;
  Samples samples{};
  bool adds = false;  ///< to the gradient that earlier ones have begun
  bool operator==(const BackwardWeights&) const = default;
};

/// The gradient of a block that uses another one's weights (Network::is_tied), to that of the
/// owner.
struct AddGradient {
  int block = -1;
  bool operator==(const AddGradient&) const = default;
};

/// Norm of all gradients this worker updates; scales the updates that follow.
struct Clip {
  bool operator==(const Clip&) const = default;
};

/// weights <- weights, gradient
struct Update {
  int block = -1;
  bool operator==(const Update&) const = default;
};

/// What a send and its receive have in common.
struct Message {
  Value value{.index = -1};  ///< tensor, diff, saved, pending, weights or gradient
  int peer = -1;             ///< worker
  /// Index of Plan::row_lists: it carries some rows of a tensor. The owner's side picks them: a
  /// send of a tensor takes its rows, its receive fills all of another one; a send of a diff is all
  /// of that one, its receive puts it into the rows of the owner's diff.
  int list = -1;
  bool half = false;  ///< a tensor or diff travels as bf16
  bool operator==(const Message&) const = default;
};

struct Send {
  Message message{};
  bool operator==(const Send&) const = default;
};

struct Receive {
  Message message{};
  bool adds = false;  ///< rows of a diff, to what is there
  bool operator==(const Receive&) const = default;
};

/// Sum of a bucket over a group, in three moves (transport/reduction.hpp).
enum class Move : std::uint8_t { start, sum, finish };

struct Reduce {
  Move move = Move::start;
  int group = -1;   ///< index of Plan::groups
  int bucket = -1;  ///< index of Plan::buckets
  bool operator==(const Reduce&) const = default;
};

using What = std::variant<Load, Forward, Loss, BackwardData, BackwardWeights, AddGradient, Clip,
                          Update, Send, Receive, Reduce>;

struct Task {
  When when{};
  What what{};
  bool operator==(const Task&) const = default;
};

/// The kinds by name, for tables and files; the moves of a reduction are three.
enum class TaskKind : std::uint8_t {
  load,
  forward,
  loss,
  backward_data,
  backward_weights,
  add_gradient,
  clip,
  update,
  send,
  receive,
  reduce_start,
  reduce_sum,
  reduce_finish,
};

std::string_view name_of(TaskKind kind);
TaskKind kind_of(const Task& task);
template <class Kind>
bool is(const Task& task) {
  return std::holds_alternative<Kind>(task.what);
}

/// Forward, loss, backward, sums of its own gradients, clip, update: what would be there with one
/// worker too.
bool is_compute(TaskKind kind);

/// Backward_weights, and a receive of a gradient.
bool makes_gradient(const Task& task);

/// Of what it computes, or of the message's value where that is a block's; -1: of none.
int block_of(const Task& task);
/// The whole minibatch for add_gradient, clip, update and reduce.
Samples samples_of(const Task& task);
/// These have none.
bool takes_samples(const Task& task);
void set_samples(Task& task, const Samples& samples);
/// Of forward and backward_data.
std::optional<int> delay_of(const Task& task);
/// Of forward and backward_data; others have none to set.
void set_delay(Task& task, int delay);

/// Of a send or a receive; null: it is none.
const Message* message_of(const Task& task);
Message* message_of(Task& task);

/// The value that travels instead of the message's own where this side packs it: rows picked or to
/// be put back, or all of it as bf16.
std::optional<Value> packed_value(const Send& send);
std::optional<Value> packed_value(const Receive& receive);
std::optional<Value> packed_value(const Task& task);
inline bool packs(const Task& task) { return packed_value(task).has_value(); }

}  // namespace plait::plan
