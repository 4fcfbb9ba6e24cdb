// One training step on one worker: forward, loss, and per block backward_data, backward_weights and
// update, each timed. The plainest order of tasks there is.
#pragma once

#include <vector>

#include "data/batch.hpp"
#include "optim/loss.hpp"
#include "optim/optimizer.hpp"
#include "run/workspace.hpp"

namespace plait {

/// Seconds per task, accumulated.
struct TaskSeconds {
  std::vector<double> forward, backward_data, backward_weights, update;
  double loss = 0;
  double total() const;
};

struct UpdateRule {
  const Optimizer& optimizer;
  double learning_rate = 0;
  double weight_decay = 0;
  double clip_norm = 0;
  std::int64_t step = 1;  ///< 1 for the first
};

class SerialStep {
 public:
  SerialStep(Chain& chain, ParameterStore& parameters, LossSpec loss);

  /// Gradients of the batch into the parameter store.
  LossResult gradients(const Batch& batch, const Randomness& randomness);
  void update(const UpdateRule& rule);
  /// The first block whose result holds NaN or infinity for this batch, or "".
  std::string first_non_finite_block(const Batch& batch, const Randomness& randomness);

  const TaskSeconds& seconds() const { return seconds_; }
  std::size_t bytes() const { return workspace_.bytes(); }

 private:
  Chain& chain_;
  ParameterStore& parameters_;
  LossSpec loss_;
  Workspace workspace_;
  TaskSeconds seconds_;
};

}  // namespace plait
