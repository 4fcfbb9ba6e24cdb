// MinibatchSchedule: the minibatches of a run: how many, which samples of each a worker loads,
// their learning rates and what their samples weigh in the loss.
#pragma once

#include <memory>

#include "data/batch.hpp"
#include "optim/schedule.hpp"
#include "run/class_weights.hpp"
#include "run/worker_context.hpp"
#include "session/setup.hpp"

namespace plait::session {

class MinibatchSchedule {
 public:
  /// For the worker with this program. All outlive the schedule.
  MinibatchSchedule(const TrainConfig& config, const Setup& setup, const plan::Program& program);

  const std::shared_ptr<const data::BatchStream>& stream() const { return stream_; }
  std::int64_t per_epoch() const { return stream_->batches_per_epoch(); }
  std::int64_t total_steps() const { return total_steps_; }
  /// Of the whole run; the last may be cut short.
  std::int64_t epochs() const { return (total_steps_ + per_epoch() - 1) / per_epoch(); }

  /// Counted over the whole run.
  run::Minibatch of(std::int64_t minibatch) const;
  double rate(std::int64_t minibatch) const { return learning_rate(schedule_, minibatch, drops_); }
  /// Before the next epoch: what its rates follow from. True where that drops the rate.
  bool follow(std::span<const double> test_losses);
  /// What the samples of the first `batches` minibatches of an epoch weigh together.
  double weight(std::int64_t epoch, std::int64_t batches) const {
    return weights_.epoch(epoch, batches);
  }
  /// Samples of the minibatches [first, last).
  std::int64_t samples(std::int64_t first, std::int64_t last) const;

 private:
  std::shared_ptr<const data::BatchStream> stream_;
  run::MinibatchWeights weights_;
  std::int64_t total_steps_;
  optim::ScheduleSpec schedule_;
  std::int64_t drops_ = 0;  ///< of the rate, on plateaus
};

}  // namespace plait::session
