// WorkerContext: what all parts of a worker read and none changes: its program, its options, the
// objects it is connected to. TaskRun: one run of one task.
#pragma once

#include <functional>
#include <optional>

#include "data/batch.hpp"
#include "kernels/layer.hpp"
#include "optim/loss.hpp"
#include "optim/optimizer.hpp"
#include "plan/plan.hpp"
#include "run/class_weights.hpp"
#include "run/status.hpp"
#include "trace/trace.hpp"
#include "transport/group.hpp"

namespace plait::run {

/// One minibatch of the run, whichever worker sees it.
struct Minibatch {
  std::int64_t samples = 0;  ///< of all workers together
  double learning_rate = 0;
  /// Weights in the loss: of all samples of the minibatch, and of those whose mean gradient this
  /// worker's updates see; not set: every sample (in the loss every pixel with a label) weighs 1.
  std::optional<MinibatchWeights::Sums> weight{};
};

struct WorkerOptions {
  int rank = 0;
  int threads = 1;
  kernels::Backend backend = kernels::Backend::onednn;
  std::uint64_t seed = 1;
  optim::LossSpec loss{};
  optim::OptimizerSpec optimizer{};
  double weight_decay = 0;
  bool decay_matrices = false;  ///< weight_decay is for matrices only (decay.hpp)
  double clip_norm = 0;
  double stale_lr = 0;    ///< as in TrainConfig
  std::int64_t tail = 0;  ///< as in WorkerChainsOptions
};

/// Called before each task; tests let it throw.
using TaskHook = std::function<void(int worker, const plan::Task& task, std::int64_t minibatch)>;

/// What a worker is connected to. All of it outlives the worker.
struct WorkerLinks {
  transport::Group& group;
  trace::WorkerTrace& trace;
  WorkerStatus& status;
  /// The next minibatch's samples of this worker, in order; as Prefetch::next.
  std::function<void(data::Batch&)> next_batch;
  std::function<Minibatch(std::int64_t minibatch)> minibatch;
  TaskHook hook{};
};

/// One run of a task: its position in the program, for which minibatch and at which step.
struct TaskRun {
  std::size_t task = 0;
  std::int64_t minibatch = 0;
  std::int64_t step = 0;
  std::int64_t whole = 0;    ///< samples of the minibatch
  std::int64_t samples = 0;  ///< of them, the task's
};

struct WorkerContext {
  const plan::Plan& plan;
  WorkerOptions options{};
  WorkerLinks links;

  const plan::Program& program() const {
    return plan.programs[static_cast<std::size_t>(options.rank)];
  }
  const plan::Task& task(const TaskRun& at) const { return program().tasks[at.task]; }
  template <class Kind>
  const Kind& what(const TaskRun& at) const {
    return std::get<Kind>(task(at).what);
  }
  /// Of a send or a receive.
  const plan::Message& message(const TaskRun& at) const { return *message_of(task(at)); }
  const plan::NetworkBlock& block(int index) const {
    return plan.network.blocks[static_cast<std::size_t>(index)];
  }
  TaskRun run_of(std::size_t task, std::int64_t step) const;

  /// What the samples weigh in the loss.
  MinibatchWeights::Sums weight_of(const TaskRun& at) const;
  /// Factor from a gradient over the whole minibatch's samples to the mean over those that updates
  /// see; 0 where these have none of it.
  double mean_scale(const TaskRun& at) const;
};

}  // namespace plait::run
