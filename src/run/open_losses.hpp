// OpenLosses: the losses of minibatches whose loss tasks on this worker have not all run yet, in
// the order in which their first one ran.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "optim/loss.hpp"

namespace plait::run {

struct MinibatchLoss {
  std::int64_t minibatch = 0;
  optim::LossResult loss;  ///< of this worker's samples
};

/// A loss that is NaN or infinite; `block` is the first of this worker whose result is ("" : none).
struct NonFiniteLoss : std::runtime_error {
  NonFiniteLoss(std::int64_t minibatch_, double loss_, std::string block_)
      : std::runtime_error("loss is not finite"),
        minibatch(minibatch_),
        loss(loss_),
        block(std::move(block_)) {}
  std::int64_t minibatch;
  double loss;
  std::string block;
};

class OpenLosses {
 public:
  /// `tasks`: loss tasks per minibatch.
  explicit OpenLosses(int tasks) : tasks_(tasks) {}

  /// Of one loss task.
  void add(std::int64_t minibatch, const optim::LossResult& result);
  /// Those that are complete, up to the first that is not.
  std::vector<MinibatchLoss> take();

 private:
  struct Open {
    MinibatchLoss loss;
    int tasks = 0;  ///< that have run
  };
  int tasks_;
  std::vector<Open> open_;
};

}  // namespace plait::run
