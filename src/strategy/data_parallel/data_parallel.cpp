// The program of one worker: forward, backward with reductions between its tasks, updates.
#include "strategy/data_parallel/data_parallel.hpp"

#include <algorithm>
#include <numeric>

#include "base/error.hpp"
#include "strategy/reductions.hpp"
#include "strategy/steps.hpp"

namespace plait::strategy {

namespace {

void check_samples(const PlanRequest& request) {
  const std::int64_t workers = request.machine.workers();
  const std::int64_t parts = workers * request.microbatches;
  if (parts <= request.batch) return;
  const std::int64_t most = request.batch / request.microbatches;
  setting_error("workers", workers,
                "are more than the plan can use: `batch` {} has only {} samples for {} "
                "workers x {} microbatches; use {}a `batch` of at least {}",
                request.batch, request.batch, workers, request.microbatches,
                most > 0 ? fmt::format("at most {} workers or ", most) : "", parts);
}

/// In the order they are started: running statistics, then gradients from the last block to the
/// first.
std::vector<plan::Bucket> make_buckets(const plan::Network& network, const PlanRequest& request) {
  std::vector<int> blocks(network.blocks.size());
  std::iota(blocks.begin(), blocks.end(), 0);
  std::vector<plan::Bucket> buckets;
  if (plan::Bucket state = state_bucket(network, blocks); !state.blocks.empty()) {
    buckets.push_back(std::move(state));
  }
  std::ranges::reverse(blocks);
  for (plan::Bucket& bucket :
       gradient_buckets(network, blocks, request.bucket_bytes, request.wire_bytes)) {
    buckets.push_back(std::move(bucket));
  }
  return buckets;
}

void append_program(const plan::Plan& plan, int worker, bool clip, std::vector<plan::Task>& tasks) {
  const int parts = plan.microbatches;
  const bool alone = plan.workers() == 1;
  OverlappedReductions reductions(
      plan, {.group = 0, .first = 0, .last = static_cast<int>(plan.buckets.size())}, !clip, tasks);
  for (int part = 0; part < parts; ++part) {
    const Microbatch microbatch{
        .samples = plan::part_of(worker * parts + part, plan.workers() * parts),
        .first = part == 0};
    const bool reduce = !alone && part + 1 == parts;
    append_forward(plan.network, microbatch, tasks);
    if (reduce) reductions.state_ready();
    for (int block = plan.network.size(); block-- > 0;) {
      append_backward(plan.network, block, microbatch, tasks);
      if (reduce) reductions.block_ready(block);
    }
  }
  if (!alone) reductions.drain();
  if (alone || clip) append_updates(plan.network, clip, tasks);
}

}  // namespace

plan::Plan make_data_parallel_plan(const PlanRequest& request) {
  check_samples(request);
  plan::Plan plan = empty_plan("data_parallel", request);
  if (plan.workers() > 1) {
    plan.buckets = make_buckets(plan.network, request);
    std::vector<int>& all = plan.groups.emplace_back();
    for (int worker = 0; worker < plan.workers(); ++worker) all.push_back(worker);
  }
  for (int worker = 0; worker < plan.workers(); ++worker) {
    append_program(plan, worker, request.clip,
                   plan.programs[static_cast<std::size_t>(worker)].tasks);
  }
  return plan;
}

}  // namespace plait::strategy
