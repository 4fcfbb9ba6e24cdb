// The three moves of each bucket, and the arrays that a bucket carries.
#include "run/reductions.hpp"

#include <algorithm>

namespace plait::run {

Reductions::Reductions(const WorkerContext& context, WorkerModel& model, PlanGroups& groups,
                       const plan::Samples& share)
    : context_(context),
      model_(model),
      groups_(groups),
      share_(share),
      reductions_(context.plan.buckets.size()),
      exchanges_(context.plan.buckets.size()) {
  if (plan::has_outer_optimizer(context.plan)) make_outer_state();
  for (const plan::Task& task : context.program().tasks) {
    const auto* reduce = std::get_if<plan::Reduce>(&task.what);
    if (reduce != nullptr && reduce->move == plan::Move::start) make_exchange(*reduce);
  }
}

/// Running statistics have no optimizer arrays: what the outer optimizer keeps of them is here.
void Reductions::make_outer_state() {
  for (std::size_t i = 0; i < model_.parameters.size(); ++i) {
    outer_state_.emplace_back(model_.parameters.block(i).state.shape());
  }
}

void Reductions::make_exchange(const plan::Reduce& start) {
  const auto index = static_cast<std::size_t>(start.bucket);
  const plan::Bucket& bucket = context_.plan.buckets[index];
  if (bucket.payload == plan::Payload::gradient || bucket.payload == plan::Payload::state) return;
  ExchangeValues values{.values = payload(bucket, bucket.payload)};
  if (bucket.merge.kind == plan::MergeKind::outer) {
    values.momentum = payload(bucket, plan::Payload::outer);
    for (std::size_t i = 0; i < values.momentum.size(); ++i) {
      values.learns.insert(values.learns.end(), values.momentum[i].size(), i % 2 == 0 ? 1 : 0);
    }
  }
  exchanges_[index] = std::make_unique<Exchange>(bucket, std::move(values), groups_.at(start.group),
                                                 kTagsPerBucket * start.bucket);
}

std::vector<std::span<float>> Reductions::payload(const plan::Bucket& bucket, plan::Payload kind) {
  std::vector<std::span<float>> values;
  const auto outer = static_cast<std::size_t>(model_.optimizer->state_count());
  for (const int block : bucket.blocks) {
    const auto index = static_cast<std::size_t>(block);
    BlockMemory& memory = model_.parameters.block(index);
    switch (kind) {
      case plan::Payload::gradient: values.push_back(memory.gradient.floats()); break;
      case plan::Payload::state: values.push_back(memory.state.floats()); break;
      case plan::Payload::weights:
        values.push_back(memory.weights.floats());
        values.push_back(memory.state.floats());
        break;
      case plan::Payload::outer:
        values.push_back(memory.optimizer[outer].floats());
        values.push_back(outer_state_[index].floats());
        break;
      case plan::Payload::optimizer:
        for (std::size_t k = 0; k < outer; ++k) values.push_back(memory.optimizer[k].floats());
        break;
    }
  }
  return values;
}

void Reductions::begin_range() {
  for (const std::unique_ptr<Exchange>& exchange : exchanges_) {
    if (exchange) exchange->all_are_equal();
  }
}

void Reductions::weigh_state(const TaskRun& at, const std::vector<std::span<float>>& values,
                             int members) {
  const auto samples = static_cast<double>(context_.program().averages.count(at.whole));
  const auto weight = static_cast<float>(
      samples > 0 ? static_cast<double>(share_.count(at.whole)) / samples : 1.0 / members);
  for (const std::span<float> value : values) {
    for (float& x : value) x *= weight;
  }
}

void Reductions::move_reduction(const TaskRun& at, TaskLog& log) {
  const auto& task = context_.what<plan::Reduce>(at);
  const plan::Bucket& bucket = context_.plan.buckets[static_cast<std::size_t>(task.bucket)];
  std::optional<transport::Reduction>& reduction =
      reductions_[static_cast<std::size_t>(task.bucket)];
  if (task.move == plan::Move::start) {
    transport::Group& group = groups_.at(task.group);
    std::vector<std::span<float>> values = payload(bucket, bucket.payload);
    if (bucket.payload == plan::Payload::state) weigh_state(at, values, group.size());
    const bool half = context_.plan.wire_bytes == 2 && bucket.payload == plan::Payload::gradient;
    reduction.emplace(group, std::move(values), half ? transport::Wire::bf16 : transport::Wire::f32,
                      kTagsPerBucket * task.bucket);
    reduction->start();
    return;
  }
  log.set(reduction->ready() ? WorkerState::working : WorkerState::waiting);
  task.move == plan::Move::sum ? reduction->sum() : reduction->finish();
}

void Reductions::move_exchange(const TaskRun& at, TaskLog& log) {
  const auto& task = context_.what<plan::Reduce>(at);
  Exchange& exchange = *exchanges_[static_cast<std::size_t>(task.bucket)];
  if (task.move == plan::Move::start) {
    exchange.start();
    std::size_t bytes = 0;
    for (const auto& one : exchanges_) bytes += one ? one->bytes() : 0;
    most_bytes_ = std::max(most_bytes_, bytes);
    return;
  }
  const bool sums = task.move == plan::Move::sum;
  log.set(exchange.ready(sums) ? WorkerState::working : WorkerState::waiting);
  sums ? exchange.sum() : exchange.finish();
}

double Reductions::waited(std::size_t bucket) const {
  if (exchanges_[bucket]) return exchanges_[bucket]->waited();
  return reductions_[bucket] ? reductions_[bucket]->waited() : 0;
}

void Reductions::reduce(const TaskRun& at, TaskLog& log) {
  const auto& task = context_.what<plan::Reduce>(at);
  const auto index = static_cast<std::size_t>(task.bucket);
  const transport::Group& group = groups_.at(task.group);
  const bool starts = task.move == plan::Move::start;
  const std::int64_t sent_before = group.traffic().bytes;
  const double begin = now_seconds();
  const double waited_before = starts ? 0 : waited(index);
  exchanges_[index] ? move_exchange(at, log) : move_reduction(at, log);
  log.set(WorkerState::working);
  const double waited_here = starts ? 0 : waited(index) - waited_before;
  if (task.move == plan::Move::finish) reductions_[index].reset();
  log.exchanged(
      at, {.begin = begin, .waited = waited_here, .bytes = group.traffic().bytes - sent_before});
}

ExchangeTimes Reductions::times() const {
  ExchangeTimes all;
  for (std::size_t i = 0; i < exchanges_.size(); ++i) {
    if (!exchanges_[i] || context_.plan.buckets[i].merge.steps == 0) continue;
    const ExchangeTimes one = exchanges_[i]->times();
    all.count += one.count;
    all.under_way += one.under_way;
    all.waited += one.waited;
  }
  return all;
}

}  // namespace plait::run
