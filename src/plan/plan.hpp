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

namespace plait {

/// What a reduction sums. Gradients add up; state is the mean weighted by the members' samples.
enum class Payload : std::uint8_t { gradient, state };
std::string_view name_of(Payload payload);

struct Bucket {
  Payload payload = Payload::gradient;
  std::vector<int> blocks{};
  bool operator==(const Bucket&) const = default;
};

struct Program {
  std::vector<Task> tasks{};
};

/// How a worker comes by weights older than its newest ones.
enum class OldWeights : std::uint8_t {
  stash,    ///< it keeps every version that is still wanted
  rebuilt,  ///< backward_data takes the newest minus delay x the moving average of the updates
  ring,     ///< as rebuilt, but minus the updates themselves, kept exactly: the bits of a stash
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
  std::vector<std::vector<std::int32_t>> row_lists{};  ///< rows of tensors that travel, ascending
  std::vector<Program> programs{};                     ///< one per worker

  int workers() const { return static_cast<int>(programs.size()); }
  /// The largest offset.
  int depth() const;
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

/// Of all numbers of a bucket as they travel; running statistics always as fp32.
std::int64_t bucket_bytes(const Plan& plan, const Bucket& bucket);

}  // namespace plait
