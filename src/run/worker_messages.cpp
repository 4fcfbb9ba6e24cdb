// The tasks of a worker that speak to other workers.
#include "base/clock.hpp"
#include "base/error.hpp"
#include "run/worker.hpp"

namespace plait {

void Worker::free_for_writing(const Moment& at, int slot) {
  if (sends_.empty() || slot < 0) return;
  const Slot& found = map_.slots[static_cast<std::size_t>(slot)];
  const auto pending = sends_.find({slot, at.minibatch % found.copies});
  if (pending == sends_.end()) return;
  pending->second.wait();
  sends_.erase(pending);
}

void Worker::post_receives(std::int64_t step, const MinibatchRange& range) {
  for (std::size_t i = 0; i < program_.tasks.size(); ++i) {
    const Task& task = program_.tasks[i];
    const std::int64_t minibatch = step - task.offset;
    if (task.kind != TaskKind::receive || !task.runs_at(step)) continue;
    if (minibatch < range.first || minibatch >= range.last) continue;
    const std::int64_t samples = task.samples.count(links_.minibatch(minibatch).samples);
    if (samples == 0) continue;
    const std::size_t bytes = chains_.at(samples).tensor_desc(task.tensor).bytes();
    receives_[i] =
        links_.group.irecv({memory(bound_[i].message, minibatch), bytes}, task.peer, bound_[i].tag);
  }
}

void Worker::receive(const Moment& at) {
  waiting(at, [&] { receives_[at.task].wait(); });
  receives_[at.task] = Request();
}

void Worker::send(const Moment& at) {
  if (at.samples == 0) return;
  const double begin = now_seconds();
  const Task& task = task_of(at);
  const Bound& bound = bound_[at.task];
  const std::size_t bytes = chains_.at(at.samples).tensor_desc(task.tensor).bytes();
  const Slot& slot = map_.slots[static_cast<std::size_t>(bound.message)];
  sends_[{bound.message, at.minibatch % slot.copies}] =
      links_.group.isend({memory(bound.message, at.minibatch), bytes}, task.peer, bound.tag);
  links_.trace.add({.task = static_cast<std::int32_t>(at.task),
                    .activity = Activity::communicate,
                    .minibatch = at.minibatch,
                    .step = at.step,
                    .begin = begin - trace_begin_,
                    .end = now_seconds() - trace_begin_,
                    .bytes = static_cast<std::int64_t>(bytes)});
}

std::span<float> Worker::payload(const Bucket& bucket, int block) {
  BlockMemory& memory = parameters_.block(static_cast<std::size_t>(block));
  return bucket.payload == Payload::gradient ? memory.gradient.floats() : memory.state.floats();
}

void Worker::reduce(const Moment& at) {
  const Task& task = task_of(at);
  const Bucket& bucket = plan_.buckets[static_cast<std::size_t>(task.bucket)];
  Group& group = *groups_[static_cast<std::size_t>(task.group)];
  std::optional<Reduction>& reduction = reductions_[static_cast<std::size_t>(task.bucket)];
  const std::int64_t sent_before = group.traffic().bytes;
  double waited = 0;
  double begin = now_seconds();
  if (task.kind == TaskKind::reduce_start) {
    std::vector<std::span<float>> values;
    for (const int block : bucket.blocks) values.push_back(payload(bucket, block));
    if (bucket.payload == Payload::state) {
      // The mean over all samples: every member brings its statistics times its share of them.
      const auto weight = static_cast<float>(static_cast<double>(share_.count(at.whole)) /
                                             static_cast<double>(at.whole));
      for (const std::span<float> value : values) {
        for (float& x : value) x *= weight;
      }
    }
    const bool half = plan_.wire_bytes == 2 && bucket.payload == Payload::gradient;
    reduction.emplace(group, std::move(values), half ? Wire::bf16 : Wire::f32, task.bucket);
    reduction->start();
  } else {
    const double waited_before = reduction->waited();
    links_.status.set(reduction->ready() ? WorkerState::working : WorkerState::waiting);
    if (task.kind == TaskKind::reduce_sum) {
      reduction->sum();
    } else {
      reduction->finish();
    }
    links_.status.set(WorkerState::working);
    waited = reduction->waited() - waited_before;
    if (task.kind == TaskKind::reduce_finish) reduction.reset();
  }
  const double end = now_seconds();
  // Waiting is shown first and in one piece, whatever order the shards came in.
  Event event{.task = static_cast<std::int32_t>(at.task),
              .activity = Activity::wait,
              .minibatch = at.minibatch,
              .step = at.step,
              .begin = begin - trace_begin_,
              .end = begin + waited - trace_begin_,
              .bytes = 0};
  if (waited > 0) links_.trace.add(event);
  event.activity = Activity::communicate;
  event.begin = event.end;
  event.end = end - trace_begin_;
  event.bytes = group.traffic().bytes - sent_before;
  links_.trace.add(event);
}

}  // namespace plait
