// What each worker of a plan will hold, kind by kind, and what its process will take of the
// machine's memory: foreseen from the plan and the sizes of the fast layers, before anything runs.
#pragma once

#include "plan/accesses.hpp"
#include "plan/network_sizes.hpp"

namespace plait::plan {

struct WorkerMemory {
  std::int64_t values = 0;      ///< tensors, gradients and what blocks keep, of all minibatches
  std::int64_t scratch = 0;     ///< of the task that needs most
  std::int64_t parameters = 0;  ///< weights, gradients, optimizer arrays, running statistics
  std::int64_t versions = 0;    ///< older weights
  std::int64_t exchanges = 0;   ///< weights on their way between nodes
  std::int64_t messages = 0;    ///< copies of what is sent, and gradients being summed
  std::int64_t batches = 0;     ///< loaded and prefetched minibatches
  std::int64_t evaluation = 0;  ///< a forward pass of its own, and its images
  std::int64_t saving = 0;      ///< worker 0's copy of all weights for a checkpoint
  std::int64_t kernels = 0;     ///< machine code of the layers, indices of sparse ones
  std::int64_t program = 0;     ///< of a process: its code, libraries and threads

  /// What a worker counts of itself.
  std::int64_t held() const { return values + scratch + parameters + versions + exchanges; }
  /// Of a worker in a thread.
  std::int64_t own() const { return held() + messages + batches + evaluation + saving + kernels; }
  /// Of a worker that is a process.
  std::int64_t total() const { return own() + program; }
};

class MemoryForecast {
 public:
  /// The plan must outlive it.
  explicit MemoryForecast(const Plan& plan, const graph::SizeOptions& options = {});
  WorkerMemory of(int worker);

 private:
  std::int64_t bytes_of(const Value& value, bool loads_directly);
  void count_parameters(int worker, WorkerMemory& memory);
  void count_around(int worker, WorkerMemory& memory);
  std::int64_t kernels_of(int worker);
  /// 1, or one for each pixel of the image that the network ends with.
  std::int64_t labels_per_sample();
  /// Weights as they lie, beside their number: what is exchanged is padded too.
  double padding();
  const graph::BlockSizes& home(std::size_t block) {
    return sizes_.at(home_samples_).blocks[block];
  }

  const Plan& plan_;
  SizesBySamples sizes_;
  std::int64_t home_samples_ = 1;  ///< the most of a forward: parameters lie as for these
  bool has_layers_ = true;
  bool all_compute_all_ = false;  ///< every worker has the forward tasks of all blocks
  bool overlaps_ = false;         ///< minibatches do, so that what is sent is copied
  std::vector<int> staleness_;
};

/// Of every worker of the plan: total().
std::vector<std::int64_t> estimate_memories(const Plan& plan,
                                            const graph::SizeOptions& options = {});

/// Of the workers begin .. end - 1 as threads of one process.
std::int64_t process_memory(const Plan& plan, int begin, int end, int threads);

/// Of a process that evaluates weights of the network in batches of `samples`.
std::int64_t evaluation_memory(const Network& network, std::int64_t samples, int threads);

}  // namespace plait::plan
