// The tasks of a worker that speak to other workers.
#include <algorithm>
#include <cstring>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "run/row_packing.hpp"
#include "run/worker.hpp"
#include "transport/bf16.hpp"

namespace plait {

void Worker::free_for_writing(const Moment& at, int slot) {
  if (sends_.empty() || slot < 0) return;
  const Slot& of = map_.slots[static_cast<std::size_t>(slot)];
  const std::int64_t copy = at.minibatch % of.copies;
  const auto pending = sends_.find({slot, copy});
  if (pending == sends_.end()) return;
  const auto taken = [](const Lent& lent) {
    return std::ranges::all_of(lent.requests, &Request::done);
  };
  auto& place = places_[static_cast<std::size_t>(slot)][static_cast<std::size_t>(copy)];
  Lent lent{std::move(place), of.bytes, std::move(pending->second)};
  sends_.erase(pending);
  if (taken(lent)) {
    place = std::move(lent.bytes);
    return;
  }
  const auto free = std::ranges::find_if(
      lent_, [&](const Lent& one) { return one.size == of.bytes && taken(one); });
  if (free == lent_.end()) {
    place = allocate_bytes(of.bytes);
    lent_.push_back(std::move(lent));
  } else {
    place = std::move(free->bytes);
    *free = std::move(lent);
  }
}

void Worker::post_receives(std::int64_t step, const MinibatchRange& range) {
  for (std::size_t i = 0; i < program_.tasks.size(); ++i) {
    const Task& task = program_.tasks[i];
    const auto* receive = std::get_if<Receive>(&task.what);
    if (receive == nullptr || !runs(task.when, step, range)) continue;
    const Message& message = receive->message;
    if (is_permanent(message.value.role)) continue;  // goes to memory that is in use until then
    const Moment at = moment_of(i, step);
    const std::size_t bytes = message_bytes(at);
    if (bytes == 0) continue;
    receives_[i] = links_.group.irecv({memory(bound_[i].message, at.minibatch), bytes},
                                      message.peer, bound_[i].tag);
  }
}

std::size_t Worker::message_bytes(const Moment& at) const {
  const Message& message = message_at(at);
  const auto& [role, index, samples] = message.value;
  if (at.samples == 0) return 0;
  if (message.list >= 0) {
    const auto& rows = plan_.row_lists[static_cast<std::size_t>(message.list)];
    return chains_.at(at.samples).rows_bytes(static_cast<std::int64_t>(rows.size()));
  }
  if (is_of_tensor(role)) {
    return chains_.at(at.samples).tensor_desc(index).bytes() / (message.half ? 2 : 1);
  }
  const Block& block = chains_.at(at.samples).block(static_cast<std::size_t>(index));
  return role == Role::saved ? block.saved_bytes() : block.pending_bytes();
}

std::span<float> Worker::tensor_of(const Moment& at) const {
  const TensorDesc& desc = chains_.at(at.samples).tensor_desc(message_at(at).value.index);
  return {floats(bound_[at.task].rows, at.minibatch),
          static_cast<std::size_t>(desc.physical_elements())};
}

void Worker::pack(const Moment& at) {
  const Message& message = message_at(at);
  const Bound& bound = bound_[at.task];
  free_for_writing(at, bound.message);
  if (message.half) {
    const std::span<const float> values = tensor_of(at);
    auto* packed = reinterpret_cast<std::uint16_t*>(memory(bound.message, at.minibatch));
    for (std::size_t i = 0; i < values.size(); ++i) packed[i] = to_bf16(values[i]);
    return;
  }
  pack_rows(
      chains_.at(at.samples).tensor_desc(message.value.index), floats(bound.rows, at.minibatch),
      plan_.row_lists[static_cast<std::size_t>(message.list)], floats(bound.message, at.minibatch));
}

void Worker::unpack(const Moment& at) {
  const auto& [message, adds] = what_of<Receive>(at);
  const Bound& bound = bound_[at.task];
  if (message.half) {
    const auto* packed =
        reinterpret_cast<const std::uint16_t*>(memory(bound.message, at.minibatch));
    const std::span<float> values = tensor_of(at);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = from_bf16(packed[i]);
    return;
  }
  unpack_rows(chains_.at(at.samples).tensor_desc(message.value.index),
              floats(bound.message, at.minibatch),
              plan_.row_lists[static_cast<std::size_t>(message.list)], adds,
              floats(bound.rows, at.minibatch));
}

void Worker::send_copy(const Moment& at, std::span<const std::byte> bytes) {
  auto free = std::ranges::find_if(
      copies_, [&](const Copy& copy) { return copy.size == bytes.size() && copy.request.done(); });
  if (free == copies_.end()) {
    copies_.push_back({allocate_bytes(bytes.size()), bytes.size(), Request()});
    free = copies_.end() - 1;
  }
  std::memcpy(free->bytes.get(), bytes.data(), bytes.size());
  free->request = links_.group.isend({free->bytes.get(), bytes.size()}, message_at(at).peer,
                                     bound_[at.task].tag);
}

void Worker::send_weights(const Moment& at) {
  const Message& message = message_at(at);
  const auto index = static_cast<std::size_t>(message.value.index);
  const double begin = now_seconds();
  const auto bytes = std::as_bytes(parameters_.block(index).weights.floats());
  if (overlaps_) {
    send_copy(at, bytes);
  } else {
    weight_sends_[index].push_back(links_.group.isend(bytes, message.peer, bound_[at.task].tag));
  }
  message_event(at, begin, bytes.size());
}

void Worker::receive_weights(const Moment& at) {
  const Message& message = message_at(at);
  const auto index = static_cast<std::size_t>(message.value.index);
  Request request = links_.group.irecv(std::as_writable_bytes(history_.next(index)), message.peer,
                                       bound_[at.task].tag);
  waiting(at, [&] { request.wait(); });
  history_.made(index);
}

void Worker::message_event(const Moment& at, double begin, std::size_t bytes) {
  links_.trace.add({.task = static_cast<std::int32_t>(at.task),
                    .activity = Activity::communicate,
                    .minibatch = at.minibatch,
                    .step = at.step,
                    .begin = begin - trace_begin_,
                    .end = now_seconds() - trace_begin_,
                    .bytes = static_cast<std::int64_t>(bytes),
                    .play = plays_});
}

void Worker::receive(const Moment& at) {
  if (message_at(at).value.role == Role::weights) return receive_weights(at);
  if (message_bytes(at) == 0) return;
  waiting(at, [&] { receives_[at.task].wait(); });
  receives_[at.task] = Request();
  if (packs(task_of(at))) unpack(at);
}

void Worker::send(const Moment& at) {
  const Message& message = message_at(at);
  if (message.value.role == Role::weights) return send_weights(at);
  const std::size_t bytes = message_bytes(at);
  if (bytes == 0) return;
  const double begin = now_seconds();
  const Bound& bound = bound_[at.task];
  if (packs(task_of(at))) pack(at);
  const Slot& slot = map_.slots[static_cast<std::size_t>(bound.message)];
  sends_[{bound.message, at.minibatch % slot.copies}].push_back(
      links_.group.isend({memory(bound.message, at.minibatch), bytes}, message.peer, bound.tag));
  message_event(at, begin, bytes);
}

std::vector<std::span<float>> Worker::payload(const Bucket& bucket) {
  std::vector<std::span<float>> values;
  const auto outer = static_cast<std::size_t>(optimizer_->state_count());
  for (const int block : bucket.blocks) {
    BlockMemory& memory = parameters_.block(static_cast<std::size_t>(block));
    switch (bucket.payload) {
      case Payload::gradient: values.push_back(memory.gradient.floats()); break;
      case Payload::state: values.push_back(memory.state.floats()); break;
      case Payload::weights:
        values.push_back(memory.weights.floats());
        values.push_back(memory.state.floats());
        break;
      case Payload::outer:
        values.push_back(memory.optimizer[outer].floats());
        values.push_back(outer_of_state_[static_cast<std::size_t>(block)].floats());
        break;
      case Payload::optimizer:
        for (int k = 0; k < optimizer_->state_count(); ++k) {
          values.push_back(memory.optimizer[static_cast<std::size_t>(k)].floats());
        }
        break;
    }
  }
  return values;
}

void Worker::make_exchanges() {
  exchanges_.resize(plan_.buckets.size());
  if (has_outer_optimizer(plan_)) {
    // Running statistics have no weights: what the outer optimizer keeps of them is here.
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      outer_of_state_.emplace_back(parameters_.block(i).state.shape());
    }
  }
  for (const Task& task : program_.tasks) {
    const auto* reduce = std::get_if<Reduce>(&task.what);
    if (reduce == nullptr || reduce->move != Move::start) continue;
    const auto index = static_cast<std::size_t>(reduce->bucket);
    const Bucket& bucket = plan_.buckets[index];
    if (bucket.payload == Payload::gradient || bucket.payload == Payload::state) continue;
    std::vector<std::span<float>> momentum;
    std::vector<char> learns;
    if (bucket.merge.kind == MergeKind::outer) {
      Bucket kept = bucket;
      kept.payload = Payload::outer;
      momentum = payload(kept);
      for (std::size_t i = 0; i < momentum.size(); ++i) {
        learns.insert(learns.end(), momentum[i].size(), i % 2 == 0 ? 1 : 0);
      }
    }
    exchanges_[index] = std::make_unique<Exchange>(
        bucket, payload(bucket), std::move(momentum), std::move(learns),
        *groups_[static_cast<std::size_t>(reduce->group)], kTagsPerBucket * reduce->bucket);
  }
}

void Worker::reduce_part(const Moment& at, const Bucket& bucket, Group& group) {
  const auto& task = what_of<Reduce>(at);
  std::optional<Reduction>& reduction = reductions_[static_cast<std::size_t>(task.bucket)];
  if (task.move == Move::start) {
    std::vector<std::span<float>> values = payload(bucket);
    if (bucket.payload == Payload::state) {
      // The mean over all samples: every member brings its statistics times its share of them.
      const auto samples = static_cast<double>(averaged_.count(at.whole));
      const auto weight = static_cast<float>(
          samples > 0 ? static_cast<double>(share_.count(at.whole)) / samples : 1.0 / group.size());
      for (const std::span<float> value : values) {
        for (float& x : value) x *= weight;
      }
    }
    const bool half = plan_.wire_bytes == 2 && bucket.payload == Payload::gradient;
    reduction.emplace(group, std::move(values), half ? Wire::bf16 : Wire::f32,
                      kTagsPerBucket * task.bucket);
    reduction->start();
    return;
  }
  links_.status.set(reduction->ready() ? WorkerState::working : WorkerState::waiting);
  task.move == Move::sum ? reduction->sum() : reduction->finish();
}

void Worker::exchange_part(const Moment& at) {
  const auto& task = what_of<Reduce>(at);
  Exchange& exchange = *exchanges_[static_cast<std::size_t>(task.bucket)];
  if (task.move == Move::start) {
    exchange.start();
    std::size_t bytes = 0;
    for (const auto& one : exchanges_) bytes += one ? one->bytes() : 0;
    most_exchanged_bytes_ = std::max(most_exchanged_bytes_, bytes);
    return;
  }
  const bool sums = task.move == Move::sum;
  links_.status.set(exchange.ready(sums) ? WorkerState::working : WorkerState::waiting);
  sums ? exchange.sum() : exchange.finish();
}

ExchangeTimes Worker::exchange_times() const {
  ExchangeTimes all;
  for (std::size_t i = 0; i < exchanges_.size(); ++i) {
    if (!exchanges_[i] || plan_.buckets[i].merge.steps == 0) continue;
    const ExchangeTimes one = exchanges_[i]->times();
    all.count += one.count;
    all.under_way += one.under_way;
    all.waited += one.waited;
  }
  return all;
}

void Worker::reduce(const Moment& at) {
  const auto& task = what_of<Reduce>(at);
  const auto index = static_cast<std::size_t>(task.bucket);
  const Bucket& bucket = plan_.buckets[index];
  Group& group = *groups_[static_cast<std::size_t>(task.group)];
  const auto waited_so_far = [&] {
    if (exchanges_[index]) return exchanges_[index]->waited();
    return reductions_[index] ? reductions_[index]->waited() : 0;
  };
  const std::int64_t sent_before = group.traffic().bytes;
  const double begin = now_seconds();
  const double waited_before = task.move == Move::start ? 0 : waited_so_far();
  exchanges_[index] ? exchange_part(at) : reduce_part(at, bucket, group);
  links_.status.set(WorkerState::working);
  const double waited = task.move == Move::start ? 0 : waited_so_far() - waited_before;
  if (task.move == Move::finish) reductions_[index].reset();
  const double end = now_seconds();
  // Waiting is shown first and in one piece, whatever order the shards came in.
  Event event{.task = static_cast<std::int32_t>(at.task),
              .activity = Activity::wait,
              .minibatch = at.minibatch,
              .step = at.step,
              .begin = begin - trace_begin_,
              .end = begin + waited - trace_begin_,
              .bytes = 0,
              .play = plays_};
  if (waited > 0) links_.trace.add(event);
  event.activity = Activity::communicate;
  event.begin = event.end;
  event.end = end - trace_begin_;
  event.bytes = group.traffic().bytes - sent_before;
  links_.trace.add(event);
}

}  // namespace plait
