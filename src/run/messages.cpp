// Sends from and receives into the memory of slots; packs rows and bf16; sends weights.
#include "run/messages.hpp"

#include <algorithm>
#include <cstring>
#include <set>

#include "run/message_tags.hpp"
#include "run/row_packing.hpp"
#include "transport/bf16.hpp"

namespace plait::run {

namespace {

void finish(std::vector<transport::Request>& sends) {
  for (transport::Request& request : sends) request.wait();
  sends.clear();
}

}  // namespace

Messages::Messages(const WorkerParts& parts, TaskLog& log)
    : parts_(parts),
      log_(log),
      receives_(parts.context.program().tasks.size()),
      steps_overlap_(parts.context.plan.depth() > 0),
      weight_sends_(parts.context.plan.network.blocks.size()),
      gradient_sends_(parts.context.plan.network.blocks.size()) {
  const plan::Plan& plan = parts.context.plan;
  const std::vector<int> tags = message_tags(plan, parts.context.options.rank);
  const auto memory_of = [&](const plan::Task& task) {
    return parts.memory.memory_of(parts.slot(message_of(task)->value));
  };
  std::set<int> received;
  for (const plan::Task& task : parts.context.program().tasks) {
    if (plan::is<plan::Receive>(task)) received.insert(memory_of(task));
  }
  for (std::size_t i = 0; i < tags.size(); ++i) {
    const plan::Task& task = parts.context.program().tasks[i];
    bound_.push_back(bind(task));
    bound_.back().copied = plan::is<plan::Send>(task) && !plan::packs(task) &&
                           memory_of(task) >= 0 && received.contains(memory_of(task));
    bound_.back().tag = kTagsPerBucket * static_cast<int>(plan.buckets.size()) + tags[i];
  }
}

Messages::Binding Messages::bind(const plan::Task& task) const {
  const plan::Message* message = message_of(task);
  if (message == nullptr || plan::is_permanent(message->value.role)) return {};
  const std::optional<plan::Value> packed = plan::packed_value(task);
  if (packed) return {.message = parts_.slot(*packed), .tensor = parts_.slot(message->value)};
  return {.message = parts_.slot(message->value)};
}

void Messages::post_receives(std::int64_t step, const plan::MinibatchRange& range) {
  const std::vector<plan::Task>& tasks = parts_.context.program().tasks;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    const auto* receive = std::get_if<plan::Receive>(&tasks[i].what);
    if (receive == nullptr || !plan::runs(tasks[i].when, step, range)) continue;
    const plan::Message& message = receive->message;
    if (plan::is_permanent(message.value.role)) continue;
    const TaskRun at = parts_.context.run_of(i, step);
    const std::size_t bytes = bytes_of(at);
    if (bytes == 0) continue;
    receives_[i] = parts_.context.links.group.irecv(
        {parts_.memory.at(bound_[i].message, at.minibatch), bytes}, message.peer, bound_[i].tag);
  }
}

std::size_t Messages::bytes_of(const TaskRun& at) const {
  const plan::Message& message = parts_.context.message(at);
  const auto& [role, index, samples] = message.value;
  if (at.samples == 0) return 0;
  const Chain& chain = parts_.model.chains.at(at.samples);
  if (message.list >= 0) {
    const auto& rows = parts_.context.plan.row_lists[static_cast<std::size_t>(message.list)];
    return chain.rows_bytes(std::ssize(rows));
  }
  if (plan::is_of_tensor(role)) return chain.tensor_desc(index).bytes() / (message.half ? 2 : 1);
  const kernels::Block& block = chain.block(static_cast<std::size_t>(index));
  return role == plan::Role::saved ? block.saved_bytes() : block.pending_bytes();
}

std::span<float> Messages::tensor_of(const TaskRun& at) const {
  const int index = parts_.context.message(at).value.index;
  const tensor::TensorDesc& desc = parts_.model.chains.at(at.samples).tensor_desc(index);
  return {parts_.memory.floats(bound_[at.task].tensor, at.minibatch),
          static_cast<std::size_t>(desc.physical_elements())};
}

void Messages::pack(const TaskRun& at) {
  const plan::Message& message = parts_.context.message(at);
  const Binding& bound = bound_[at.task];
  parts_.memory.free_for_writing(bound.message, at.minibatch);
  std::byte* packed = parts_.memory.at(bound.message, at.minibatch);
  if (message.half) {
    const std::span<const float> values = tensor_of(at);
    auto* halves = reinterpret_cast<std::uint16_t*>(packed);
    for (std::size_t i = 0; i < values.size(); ++i) halves[i] = transport::to_bf16(values[i]);
    return;
  }
  pack_rows(parts_.model.chains.at(at.samples).tensor_desc(message.value.index),
            parts_.memory.floats(bound.tensor, at.minibatch),
            parts_.context.plan.row_lists[static_cast<std::size_t>(message.list)],
            reinterpret_cast<float*>(packed));
}

void Messages::unpack(const TaskRun& at) {
  const auto& [message, adds] = parts_.context.what<plan::Receive>(at);
  const Binding& bound = bound_[at.task];
  const std::byte* packed = parts_.memory.at(bound.message, at.minibatch);
  if (!adds) parts_.memory.free_for_writing(bound.tensor, at.minibatch);
  if (message.half) {
    const auto* halves = reinterpret_cast<const std::uint16_t*>(packed);
    const std::span<float> values = tensor_of(at);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = transport::from_bf16(halves[i]);
    return;
  }
  unpack_rows(parts_.model.chains.at(at.samples).tensor_desc(message.value.index),
              reinterpret_cast<const float*>(packed),
              parts_.context.plan.row_lists[static_cast<std::size_t>(message.list)], adds,
              parts_.memory.floats(bound.tensor, at.minibatch));
}

void Messages::send_copy(const TaskRun& at, std::span<const std::byte> bytes) {
  auto free = std::ranges::find_if(
      copies_, [&](const Copy& copy) { return copy.size == bytes.size() && copy.request.done(); });
  if (free == copies_.end()) {
    copies_.push_back({tensor::allocate_bytes(bytes.size()), bytes.size(), transport::Request()});
    free = copies_.end() - 1;
  }
  std::memcpy(free->bytes.get(), bytes.data(), bytes.size());
  free->request = parts_.context.links.group.isend(
      {free->bytes.get(), bytes.size()}, parts_.context.message(at).peer, bound_[at.task].tag);
}

void Messages::send_array(const TaskRun& at, std::span<const std::byte> bytes,
                          std::vector<transport::Request>& sends) {
  const double begin = now_seconds();
  if (steps_overlap_) {
    send_copy(at, bytes);
  } else {
    sends.push_back(parts_.context.links.group.isend(bytes, parts_.context.message(at).peer,
                                                     bound_[at.task].tag));
  }
  log_.communicated(at, begin, bytes.size());
}

void Messages::send_weights(const TaskRun& at) {
  const auto index = static_cast<std::size_t>(parts_.context.message(at).value.index);
  send_array(at, std::as_bytes(parts_.model.parameters.block(index).weights.floats()),
             weight_sends_[index]);
}

void Messages::receive_weights(const TaskRun& at) {
  const plan::Message& message = parts_.context.message(at);
  const auto index = static_cast<std::size_t>(message.value.index);
  transport::Request request = parts_.context.links.group.irecv(
      std::as_writable_bytes(parts_.model.history.next(index)), message.peer, bound_[at.task].tag);
  log_.waiting(at, [&] { request.wait(); });
  parts_.model.history.made(index);
}

void Messages::send_gradient(const TaskRun& at) {
  const auto index = static_cast<std::size_t>(parts_.context.message(at).value.index);
  send_array(at, std::as_bytes(parts_.model.parameters.block(index).gradient.floats()),
             gradient_sends_[index]);
}

void Messages::receive_gradient(const TaskRun& at) {
  const plan::Message& message = parts_.context.message(at);
  const auto index = static_cast<std::size_t>(message.value.index);
  transport::Request request = parts_.context.links.group.irecv(
      std::as_writable_bytes(parts_.model.parameters.block(index).gradient.floats()), message.peer,
      bound_[at.task].tag);
  log_.waiting(at, [&] { request.wait(); });
}

void Messages::finish_sending_weights(std::size_t block) { finish(weight_sends_[block]); }

void Messages::finish_sending_gradient(std::size_t block) { finish(gradient_sends_[block]); }

void Messages::receive(const TaskRun& at) {
  if (parts_.context.message(at).value.role == plan::Role::weights) return receive_weights(at);
  if (parts_.context.message(at).value.role == plan::Role::gradient) return receive_gradient(at);
  if (bytes_of(at) == 0) return;
  log_.waiting(at, [&] { receives_[at.task].wait(); });
  receives_[at.task] = transport::Request();
  if (plan::packs(parts_.context.task(at))) unpack(at);
}

void Messages::send(const TaskRun& at) {
  const plan::Message& message = parts_.context.message(at);
  if (message.value.role == plan::Role::weights) return send_weights(at);
  if (message.value.role == plan::Role::gradient) return send_gradient(at);
  const std::size_t bytes = bytes_of(at);
  if (bytes == 0) return;
  const double begin = now_seconds();
  const Binding& bound = bound_[at.task];
  if (plan::packs(parts_.context.task(at))) pack(at);
  const std::span<const std::byte> value(parts_.memory.at(bound.message, at.minibatch), bytes);
  if (bound.copied) {
    send_copy(at, value);
  } else {
    parts_.memory.sent(bound.message, at.minibatch,
                       parts_.context.links.group.isend(value, message.peer, bound.tag));
  }
  log_.communicated(at, begin, bytes);
}

}  // namespace plait::run
