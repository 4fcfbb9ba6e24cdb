// A small plan of two workers with a trace, for the tests of the report.
#pragma once

#include "plan/plan.hpp"
#include "report/record.hpp"
#include "trace/trace.hpp"

namespace plait::report {

/// Worker 0 has conv1 and sends its result, worker 1 receives it and has fc; both sum a bucket.
inline plan::Plan two_workers() {
  plan::Plan plan;
  plan.strategy = "made up";
  plan.batch = 8;
  plan.machine = {.nodes = 1, .workers_per_node = 2};
  plan.network.tensors = {4, 4, 2};
  plan.network.blocks = {{.name = "conv1", .srcs = {0}, .dst = 1, .parameters = 10},
                         {.name = "fc", .srcs = {1}, .dst = 2, .parameters = 20}};
  plan.groups = {{0, 1}};
  plan.buckets = {{.payload = plan::Payload::gradient, .blocks = {0}}};
  plan.programs.resize(2);
  plan.programs[0].tasks = {
      {.what = plan::Forward{.block = 0, .delay = 1}},
      {.what = plan::Send{{.value = {.index = 1}, .peer = 1}}},
      {.what = plan::Reduce{.move = plan::Move::sum, .group = 0, .bucket = 0}},
      {.what = plan::Update{.block = 0}}};
  plan.programs[1].tasks = {{.what = plan::Receive{{.value = {.index = 1}, .peer = 0}}},
                            {.what = plan::Forward{.block = 1}},
                            {.what = plan::BackwardData{.block = 1}},
                            {.what = plan::BackwardWeights{.block = 1}},
                            {.what = plan::Update{.block = 1}}};
  return plan;
}

/// `steps` steps of 10 ms each. Worker 0 computes 3 ms, worker 1 7 ms after a wait of 2 ms.
inline trace::Trace two_workers_trace(std::int64_t steps) {
  trace::Trace trace;
  trace.workers.resize(2);
  const auto add = [&](std::size_t worker, int task, trace::Activity activity, std::int64_t step,
                       double begin_ms, double end_ms, std::int64_t bytes = 0) {
    const double origin = 1 + 0.010 * static_cast<double>(step);
    trace.workers[worker].add({.task = task,
                               .activity = activity,
                               .minibatch = step,
                               .step = step,
                               .begin = origin + 1e-3 * begin_ms,
                               .end = origin + 1e-3 * end_ms,
                               .bytes = bytes});
  };
  for (std::int64_t step = 0; step < steps; ++step) {
    add(0, 0, trace::Activity::compute, step, 0, 2);
    add(0, 1, trace::Activity::communicate, step, 2, 2.5, 128);
    add(0, 2, trace::Activity::communicate, step, 3, 4, 64);
    add(0, 3, trace::Activity::compute, step, 4, 5);
    add(1, 0, trace::Activity::wait, step, 0, 2);
    add(1, 1, trace::Activity::compute, step, 2, 4);
    add(1, 2, trace::Activity::compute, step, 4, 6);
    add(1, 3, trace::Activity::compute, step, 6, 8);
    add(1, 4, trace::Activity::compute, step, 8, 9);
  }
  return trace;
}

}  // namespace plait::report
