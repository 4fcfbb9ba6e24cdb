// SoloWorker: a plan of one worker, played step by step on batches the caller hands in. For
// profiles, benchmarks, tests and programs that bring their own loop.
#pragma once

#include "run/worker.hpp"
#include "transport/threads.hpp"

namespace plait::run {

class SoloWorker {
 public:
  /// The plan has one worker and no offsets. The trace holds the last `traced_steps` steps; all
  /// when negative.
  SoloWorker(plan::Plan plan, const WorkerOptions& options, std::int64_t traced_steps = 100);

  /// One update with `batch`, which has the plan's number of samples. Gives the loss before it.
  optim::LossResult step(const data::Batch& batch, double learning_rate);

  ParameterStore& parameters() { return worker_.parameters(); }
  Chain& chain() { return worker_.home(); }
  const plan::Plan& plan() const { return plan_; }
  const trace::WorkerTrace& trace() const { return trace_; }

 private:
  plan::Plan plan_;
  transport::ThreadWorld world_;
  std::unique_ptr<transport::Group> group_;
  trace::WorkerTrace trace_;
  WorkerStatus status_{};
  const data::Batch* batch_ = nullptr;
  double learning_rate_ = 0;
  std::int64_t steps_ = 0;
  Worker worker_;
};

}  // namespace plait::run
