// ComputeTasks: the tasks of one worker that compute with the values of a minibatch: forward, loss,
// backward_data and backward_weights of its blocks. They read and write the memory of
// slots; what is sent, summed and updated is not theirs.
#pragma once

#include "kernels/simd/add.hpp"
#include "run/batch_ring.hpp"
#include "run/residual.hpp"
#include "run/worker_parts.hpp"

namespace plait::run {

class ComputeTasks {
 public:
  ComputeTasks(const WorkerParts& parts, const BatchRing& batches);

  /// Of a minibatch that is in the ring: the task's samples into tensor 0.
  void load(const TaskRun& at);
  /// These have samples.
  void forward(const TaskRun& at);
  optim::LossResult loss(const TaskRun& at);
  void backward_data(const TaskRun& at);
  /// Without samples the gradient is 0.
  void backward_weights(const TaskRun& at);

  /// Name of the first block whose forward before the loss task `at` gave a NaN or infinity; "":
  /// none. Plays the forward tasks of its samples once more.
  std::string first_non_finite_block(const TaskRun& at);

  /// Per block, of the differences it has computed; 0 for all others. The reader resets them.
  std::vector<ResidualSums>& residuals() { return residuals_; }

 private:
  /// Slots of a task.
  struct Binding {
    std::vector<int> srcs{};
    std::vector<int> diff_srcs{};
    int dst = -1, diff_dst = -1;
    int saved = -1, pending = -1, partial = -1;
  };

  Binding bind(const plan::Task& task) const;
  void bind_block(const plan::Task& task, Binding& bound) const;
  std::size_t home_of(const TaskRun& at) const;
  float* floats(int slot, const TaskRun& at) const {
    return parts_.memory.floats(slot, at.minibatch);
  }
  kernels::BlockArgs block_args(const TaskRun& at, BlockMemory& parameters) const;
  /// Arguments with the weights this task reads, in the layout of its number of samples.
  kernels::BlockArgs args_with_weights(const TaskRun& at);
  /// Sends the gradients that are added to others into scratch memory.
  struct Added {
    kernels::simd::Sum sum;
    bool subtracted = false;
  };
  std::vector<Added> redirect_added(const TaskRun& at, kernels::BlockArgs& args) const;
  void measure_residual(const TaskRun& at, int block);

  WorkerParts parts_;
  const BatchRing& batches_;
  std::vector<Binding> bound_;  ///< per task
  std::vector<ResidualSums> residuals_;
};

}  // namespace plait::run
