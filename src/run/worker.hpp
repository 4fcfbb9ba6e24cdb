// Worker: plays its program of a plan on real tensors, task by task, by handing each task to the
// part that knows it. It knows tasks, never strategies.
#pragma once

#include "run/batch_ring.hpp"
#include "run/compute_tasks.hpp"
#include "run/messages.hpp"
#include "run/open_losses.hpp"
#include "run/plan_groups.hpp"
#include "run/reductions.hpp"
#include "run/slot_memory.hpp"
#include "run/task_log.hpp"
#include "run/updates.hpp"
#include "run/worker_context.hpp"
#include "run/worker_model.hpp"

namespace plait::run {

class Worker {
 public:
  /// Every worker of the plan must be built at the same time (groups are split).
  Worker(const plan::Plan& plan, const WorkerOptions& options, WorkerLinks links);
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  ParameterStore& parameters() { return model_.parameters; }
  Chain& home() { return model_.chains.home(); }
  std::size_t memory_bytes() const;

  /// All tasks of one step, for those of their minibatches that are in `range`. Failure names
  /// worker, task, minibatch and step.
  void play(std::int64_t step, const plan::MinibatchRange& range);
  /// Losses of the minibatches whose last loss task has been played since the last call.
  std::vector<MinibatchLoss> take_losses() { return losses_.take(); }
  /// Per block, of the differences it has computed; 0 for all others. The reader resets them.
  std::vector<ResidualSums>& residuals() { return compute_.residuals(); }
  /// Of the exchanges that are merged some steps later.
  ExchangeTimes exchange_times() const { return reductions_.times(); }
  /// Payload sent to other workers.
  transport::Traffic traffic() const { return groups_.traffic(); }
  /// Events count from now on.
  void begin_trace() { log_.restart_clock(); }

 private:
  void perform(const TaskRun& at);
  void load(const TaskRun& at);
  void compute_loss(const TaskRun& at);
  void update(const TaskRun& at);
  template <class Body>
  void timed(const TaskRun& at, const Body& body);

  WorkerContext context_;
  WorkerModel model_;
  TaskLog log_;
  BatchRing batches_;
  PlanGroups groups_;
  Reductions reductions_;
  SlotMemory memory_;
  Messages messages_;
  ComputeTasks compute_;
  Updates updates_;
  OpenLosses losses_;
  std::int64_t range_begin_ = -1;
};

}  // namespace plait::run
