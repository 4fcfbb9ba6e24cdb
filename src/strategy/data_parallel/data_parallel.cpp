#include "strategy/data_parallel/data_parallel.hpp"

#include "base/error.hpp"
#include "strategy/steps.hpp"

namespace plait {

namespace {

void check_samples(const PlanRequest& request) {
  const std::int64_t workers = request.machine.workers();
  const std::int64_t parts = workers * request.microbatches;
  if (parts <= request.batch) return;
  const std::int64_t most = request.batch / request.microbatches;
  user_error(
      "--workers {} are more than the plan can use: --batch {} has only {} samples for {} "
      "workers x {} microbatches; use {}a --batch of at least {}",
      workers, request.batch, request.batch, workers, request.microbatches,
      most > 0 ? fmt::format("at most {} workers or ", most) : "", parts);
}

/// The buckets in the order they are started: running statistics, then gradients from the last
/// block to the first. Closed as soon as they hold `bucket_bytes` on the wire.
std::vector<Bucket> make_buckets(const Network& network, std::int64_t bucket_bytes,
                                 int wire_bytes) {
  std::vector<Bucket> buckets;
  Bucket state{.payload = Payload::state, .blocks = {}};
  for (int block = 0; block < network.size(); ++block) {
    if (network.blocks[static_cast<std::size_t>(block)].state > 0) state.blocks.push_back(block);
  }
  if (!state.blocks.empty()) buckets.push_back(std::move(state));
  Bucket open{.payload = Payload::gradient, .blocks = {}};
  std::int64_t bytes = 0;
  for (int block = network.size(); block-- > 0;) {
    const std::int64_t parameters = network.blocks[static_cast<std::size_t>(block)].parameters;
    if (parameters == 0) continue;
    open.blocks.push_back(block);
    bytes += parameters * wire_bytes;
    if (bytes < bucket_bytes) continue;
    buckets.push_back(std::move(open));
    open = {.payload = Payload::gradient, .blocks = {}};
    bytes = 0;
  }
  if (!open.blocks.empty()) buckets.push_back(std::move(open));
  return buckets;
}

/// One worker's reductions, in three moves that overlap: start(j) is followed by sum(j - 1) and
/// finish(j - 2).
class OverlappedReductions {
 public:
  OverlappedReductions(const Plan& plan, bool update_at_once, std::vector<Task>& tasks)
      : plan_(plan), update_at_once_(update_at_once), tasks_(tasks) {}

  /// Starts the next bucket if `block` is the last one it was waiting for.
  void gradient_ready(int block) {
    if (started_ < count() && bucket(started_).blocks.back() == block) start();
  }
  void start() {
    append(TaskKind::reduce_start, started_++);
    if (started_ >= 2) append(TaskKind::reduce_sum, summed_++);
    if (started_ >= 3) finish();
  }
  /// What is under way at the end of backward, in order.
  void drain() {
    while (summed_ < started_) {
      append(TaskKind::reduce_sum, summed_++);
      if (finished_ + 1 < summed_) finish();
    }
    while (finished_ < started_) finish();
  }

 private:
  int count() const { return static_cast<int>(plan_.buckets.size()); }
  const Bucket& bucket(int index) const { return plan_.buckets[static_cast<std::size_t>(index)]; }
  void append(TaskKind kind, int index) {
    tasks_.push_back({.kind = kind, .group = 0, .bucket = index});
  }
  void finish() {
    const int index = finished_++;
    append(TaskKind::reduce_finish, index);
    if (!update_at_once_ || bucket(index).payload != Payload::gradient) return;
    for (const int block : bucket(index).blocks) {
      tasks_.push_back({.kind = TaskKind::update, .block = block});
    }
  }

  const Plan& plan_;
  bool update_at_once_;
  std::vector<Task>& tasks_;
  int started_ = 0;
  int summed_ = 0;
  int finished_ = 0;
};

void append_program(const Plan& plan, int worker, bool clip, std::vector<Task>& tasks) {
  const int parts = plan.microbatches;
  const bool alone = plan.workers() == 1;
  OverlappedReductions reductions(plan, !clip, tasks);
  for (int part = 0; part < parts; ++part) {
    const Task like{.accumulate = part > 0,
                    .samples = part_of(worker * parts + part, plan.workers() * parts)};
    const bool reduce = !alone && part + 1 == parts;
    append_forward(plan.network, like, tasks);
    if (reduce && !plan.buckets.empty() && plan.buckets.front().payload == Payload::state) {
      reductions.start();
    }
    for (int block = plan.network.size(); block-- > 0;) {
      append_backward(plan.network, block, like, tasks);
      if (reduce) reductions.gradient_ready(block);
    }
  }
  if (!alone) reductions.drain();
  if (alone || clip) append_updates(plan.network, clip, tasks);
}

}  // namespace

Plan make_data_parallel_plan(const PlanRequest& request) {
  check_samples(request);
  Plan plan = empty_plan("data_parallel", request);
  if (plan.workers() > 1) {
    plan.buckets = make_buckets(plan.network, request.bucket_bytes, request.wire_bytes);
    std::vector<int>& all = plan.groups.emplace_back();
    for (int worker = 0; worker < plan.workers(); ++worker) all.push_back(worker);
  }
  for (int worker = 0; worker < plan.workers(); ++worker) {
    append_program(plan, worker, request.clip,
                   plan.programs[static_cast<std::size_t>(worker)].tasks);
  }
  return plan;
}

}  // namespace plait
