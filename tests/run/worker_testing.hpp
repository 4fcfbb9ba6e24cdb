// One member of a job of threads with the parts of a worker around a small plan, each of which a
// test can take alone.
#pragma once

#include <gtest/gtest.h>

#include "graph/zoo.hpp"
#include "plan/hand_made.hpp"
#include "run/slot_memory.hpp"
#include "run/task_log.hpp"
#include "run/worker_parts.hpp"
#include "transport/threads.hpp"

namespace plait::run {

/// Two linear layers on four numbers: 4 -> 8 -> 3.
inline plan::Plan small_plan(int workers, std::int64_t batch = 4) {
  plan::Plan plan = plan::hand_made::empty_plan("by hand", workers);
  graph::ModelSpec model{.name = "small", .input = {4}, .blocks = {}};
  for (const std::int64_t out : {8, 3}) {
    model.blocks.emplace_back(graph::BlockSpec{.name = fmt::format("to{}", out), .nodes = {}})
        .then("linear", ops::Linear{.out_features = out});
  }
  plan.network = plan::make_network(model);
  plan.batch = batch;
  return plan;
}

/// What the parts of worker `rank` are built on.
class WorkerBench {
 public:
  WorkerBench(transport::ThreadWorld& world, const plan::Plan& plan, WorkerOptions options)
      : group(world.group(options.rank)),
        context{plan, options,
                WorkerLinks{.group = *group,
                            .trace = trace,
                            .status = status,
                            .next_batch = [](data::Batch&) {},
                            .minibatch =
                                [&plan](std::int64_t) {
                                  return Minibatch{.samples = plan.batch, .learning_rate = 1};
                                }}},
        model(plan, options),
        memory(memory_of(context, model, false)),
        log(trace, status) {}

  WorkerParts parts() { return {context, model, memory}; }
  /// The first task of this kind, at a step.
  TaskRun run_of(plan::TaskKind kind, std::int64_t step = 0) const {
    const int at = plan::hand_made::position(context.plan, context.options.rank, kind);
    return context.run_of(static_cast<std::size_t>(at), step);
  }

  trace::WorkerTrace trace;
  WorkerStatus status{};
  std::unique_ptr<transport::Group> group;
  WorkerContext context;
  WorkerModel model;
  SlotMemory memory;
  TaskLog log;
};

}  // namespace plait::run
