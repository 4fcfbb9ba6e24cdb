// Reductions: the buckets of a plan on their way between workers: sums of gradients and means of
// running statistics (Reduction), exchanges of weights and optimizer arrays (Exchange).
#pragma once

#include <memory>
#include <optional>

#include "run/exchange.hpp"
#include "run/message_tags.hpp"
#include "run/plan_groups.hpp"
#include "run/task_log.hpp"
#include "run/worker_model.hpp"

namespace plait::run {

class Reductions {
 public:
  /// `share`: the samples of each minibatch that this worker has. All outlive the reductions.
  Reductions(const WorkerContext& context, WorkerModel& model, PlanGroups& groups,
             const plan::Samples& share);

  /// A range of minibatches begins: all workers have equal weights.
  void begin_range();
  /// One move of a bucket.
  void reduce(const TaskRun& at, TaskLog& log);

  /// Of the exchanges that are merged some steps later.
  ExchangeTimes times() const;
  /// Most memory that exchanges have used at one time.
  std::size_t bytes() const { return most_bytes_; }

 private:
  std::vector<std::span<float>> payload(const plan::Bucket& bucket, plan::Payload kind);
  void make_outer_state();
  void make_exchange(const plan::Reduce& start);
  void move_reduction(const TaskRun& at, TaskLog& log);
  void move_exchange(const TaskRun& at, TaskLog& log);
  /// Statistics of this worker times its share of the samples: their sum is the mean over all.
  void weigh_state(const TaskRun& at, const std::vector<std::span<float>>& values, int members);
  double waited(std::size_t bucket) const;

  const WorkerContext& context_;
  WorkerModel& model_;
  PlanGroups& groups_;
  const plan::Samples& share_;
  std::vector<std::optional<transport::Reduction>>
      reductions_;  ///< per bucket of gradients or state
  std::vector<tensor::Tensor>
      outer_state_;  ///< by block: what an outer optimizer keeps of statistics
  std::vector<std::unique_ptr<Exchange>> exchanges_;  ///< per bucket of weights or optimizer
  std::size_t most_bytes_ = 0;
};

}  // namespace plait::run
