// SoloWorker: a plan of one worker, played step by step on batches the caller hands in. For
// profiles, benchmarks, tests and programs that bring their own loop.
#pragma once

#include "run/worker.hpp"
#include "transport/threads.hpp"

namespace plait {

class SoloWorker {
 public:
  /// The plan has one worker and no offsets. The trace holds the last `traced_steps` steps; all
  /// when negative.
  SoloWorker(Plan plan, const WorkerOptions& options, std::int64_t traced_steps = 100);

  /// One update with `batch`, which has the plan's number of samples. Gives the loss before it.
  LossResult step(const Batch& batch, double learning_rate);

  ParameterStore& parameters() { return worker_.parameters(); }
  Chain& chain() { return worker_.home(); }
  const Plan& plan() const { return plan_; }
  const WorkerTrace& trace() const { return trace_; }

 private:
  Plan plan_;
  ThreadWorld world_;
  std::unique_ptr<Group> group_;
  WorkerTrace trace_;
  WorkerStatus status_{};
  const Batch* batch_ = nullptr;
  double learning_rate_ = 0;
  std::int64_t steps_ = 0;
  Worker worker_;
};

}  // namespace plait
