// Plan: who does what, in which order, how many steps late. A strategy makes it, the simulator and
// the runtime play it. A plain value; two equal plans on equal data give equal bits.
//
// A plan is one step of an endless loop. Playing T minibatches takes T + depth() steps: a task with
// offset o rests while step - o is not in [0, T).
#pragma once

#include <string>
#include <vector>

#include "plan/machine.hpp"
#include "plan/network.hpp"
#include "plan/task.hpp"

namespace plait::plan {

/// What a reduction sums. Gradients add up; state is the mean weighted by the members' samples;
/// what becomes of the sum of weights (running statistics go with them) and of the optimizer's
/// arrays says the bucket's merge.
enum class Payload : std::uint8_t { gradient, state, weights, optimizer, outer };
std::string_view name_of(Payload payload);

/// What a member makes of G, the sum of the values x of P members as they were when it started.
enum class MergeKind : std::uint8_t {
  average,    ///< x <- G / P
  weighted,   ///< x <- (2 S x + G) / (2 S + P), S being the steps since the start
  corrected,  ///< x <- x + G / P - x at the start
  outer,      ///< a step of Nesterov's SGD from where all were last equal, along G / P
  gather,     ///< no sum: member m brings part m of x, and all get all
};
std::string_view name_of(MergeKind kind);

struct Merge {
  MergeKind kind = MergeKind::average;
  int steps = 0;      ///< S
  double rate = 0.7;  ///< of outer
  double momentum = 0.9;
  bool operator==(const Merge&) const = default;
};

struct Bucket {
  Payload payload = Payload::gradient;
  std::vector<int> blocks{};
  Merge merge{};  ///< of weights and optimizer
  /// Of weights: the members sum only part `part` of `parts` of them, as one array.
  int part = 0;
  int parts = 1;
  /// Of weights: what travels is, as bf16, how far they are from where all were last equal, with
  /// what earlier roundings of its own have left out.
  bool half = false;
  bool operator==(const Bucket&) const = default;
};

struct Program {
  std::vector<Task> tasks{};
  /// The samples whose gradient the updates see; they take the mean over these.
  Samples averages{};
  bool operator==(const Program&) const = default;
};

/// How a worker comes by weights older than its newest ones.
enum class OldWeights : std::uint8_t {
  stash,    ///< it keeps every version that is still wanted
  rebuilt,  ///< backward_data takes the newest minus delay x the moving average of the updates
  /// None at all: forward and backward_data take the newest plus missing updates x their moving
  /// average, the weights as plain SGD would have them.
  predicted,
};
std::string_view name_of(OldWeights how);

struct Plan {
  std::string strategy;
  Machine machine;
  Network network;
  std::int64_t batch = 0;    ///< samples of a whole minibatch
  int microbatches = 1;      ///< per update, of each worker
  int optimizer_states = 0;  ///< arrays beside the weights; for the memory
  int wire_bytes = 4;        ///< of one gradient's number on the wire: 4 or 2 (bf16)
  OldWeights old_weights = OldWeights::stash;
  std::vector<std::vector<int>> groups{};  ///< workers, ascending
  std::vector<Bucket> buckets{};
  /// Ways to play the plan, of which the loop chooses one for every range of minibatches; empty:
  /// there is one.
  std::vector<std::string> modes{};
  std::vector<std::vector<std::int32_t>> row_lists{};  ///< rows of tensors that travel, ascending
  std::vector<Program> programs{};                     ///< one per worker

  int workers() const { return static_cast<int>(programs.size()); }
  /// Modes to play it in, 1 where it has none: 0 is the one.
  int ways() const { return modes.empty() ? 1 : static_cast<int>(modes.size()); }
  /// The largest offset.
  int depth() const;
  bool operator==(const Plan&) const = default;
};

/// The first worker that updates each block: its copy counts for checkpoints. -1: nobody.
std::vector<int> owners(const Plan& plan);

/// The first worker whose forward moves the running statistics of each block. -1: nobody.
std::vector<int> state_owners(const Plan& plan);

/// Per block: how many updates the weights that a minibatch reads are older than in plain SGD.
std::vector<int> staleness(const Plan& plan);

/// "forward of conv3_1", "reduce_sum of bucket 2", "send of the gradient of tensor 5 to worker 1".
std::string describe(const Plan& plan, const Task& task);

/// Bytes one worker's task puts on the wire (send; start and sum of a reduction), the minibatch
/// being `batch` samples.
std::int64_t wire_bytes(const Plan& plan, int worker, const Task& task);

/// Of the numbers of a bucket, those that member `member` of `members` sends in a move.
std::int64_t sent_numbers(Move move, std::int64_t numbers, int members, int member);

/// Whether weights are merged by an outer optimizer, which keeps an array of their size.
bool has_outer_optimizer(const Plan& plan);

/// How many numbers of a bucket are summed.
std::int64_t bucket_numbers(const Plan& plan, const Bucket& bucket);

/// Of one number of a bucket as it travels; running statistics always as fp32.
int number_bytes(const Plan& plan, const Bucket& bucket);
/// Of all of them.
std::int64_t bucket_bytes(const Plan& plan, const Bucket& bucket);

}  // namespace plait::plan
