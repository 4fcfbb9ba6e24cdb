// Updates: the optimizer's part of a step: sums of the gradients of weights with several users, the
// norm that clips gradients, and a new version of the weights of each block that this worker
// updates.
#pragma once

#include "run/decay.hpp"
#include "run/worker_model.hpp"

namespace plait::run {

class Updates {
 public:
  /// Both outlive the updates.
  Updates(const WorkerContext& context, WorkerModel& model);

  /// To the gradient of the block whose weights it uses.
  void add_gradient(const TaskRun& at);
  /// Scales the updates that follow, where the norm of all gradients is above the limit.
  void clip(const TaskRun& at);
  void update(const TaskRun& at);

 private:
  const WorkerContext& context_;
  WorkerModel& model_;
  float gradient_scale_ = 1;
  std::vector<double> rate_scale_;              ///< of the learning rate, per block
  std::vector<std::vector<DecayRange>> decay_;  ///< per block
};

}  // namespace plait::run
