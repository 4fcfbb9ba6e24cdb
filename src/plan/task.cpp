// Names and classes of task kinds and roles.
#include "plan/task.hpp"

#include <array>
#include <type_traits>

namespace plait::plan {

std::string_view name_of(TaskKind kind) {
  switch (kind) {
    case TaskKind::load: return "load";
    case TaskKind::forward: return "forward";
    case TaskKind::loss: return "loss";
    case TaskKind::backward_data: return "backward_data";
    case TaskKind::backward_weights: return "backward_weights";
    case TaskKind::add_gradient: return "add_gradient";
    case TaskKind::clip: return "clip";
    case TaskKind::update: return "update";
    case TaskKind::send: return "send";
    case TaskKind::receive: return "receive";
    case TaskKind::reduce_start: return "reduce_start";
    case TaskKind::reduce_sum: return "reduce_sum";
    case TaskKind::reduce_finish: return "reduce_finish";
  }
  return "unknown";
}

TaskKind kind_of(const Task& task) {
  // Asked of every task of large plans: no visit.
  constexpr std::array<TaskKind, std::variant_size_v<What>> kinds{
      TaskKind::load,          TaskKind::forward,          TaskKind::loss,
      TaskKind::backward_data, TaskKind::backward_weights, TaskKind::add_gradient,
      TaskKind::clip,          TaskKind::update,           TaskKind::send,
      TaskKind::receive,       TaskKind::reduce_start};
  static_assert(std::is_same_v<std::variant_alternative_t<kinds.size() - 1, What>, Reduce>);
  const auto* reduce = std::get_if<Reduce>(&task.what);
  if (reduce == nullptr) return kinds[task.what.index()];
  if (reduce->move == Move::start) return TaskKind::reduce_start;
  return reduce->move == Move::sum ? TaskKind::reduce_sum : TaskKind::reduce_finish;
}

bool is_compute(TaskKind kind) {
  switch (kind) {
    case TaskKind::forward:
    case TaskKind::loss:
    case TaskKind::backward_data:
    case TaskKind::backward_weights:
    case TaskKind::add_gradient:
    case TaskKind::clip:
    case TaskKind::update: return true;
    default: return false;
  }
}

bool makes_gradient(const Task& task) {
  const auto* receive = std::get_if<Receive>(&task.what);
  return is<BackwardWeights>(task) ||
         (receive != nullptr && receive->message.value.role == Role::gradient);
}

int block_of(const Task& task) {
  return std::visit(
      [](const auto& what) {
        if constexpr (requires { what.block; }) {
          return what.block;
        } else if constexpr (requires { what.message; }) {
          return is_of_tensor(what.message.value.role) ? -1 : what.message.value.index;
        } else {
          return -1;
        }
      },
      task.what);
}

Samples samples_of(const Task& task) {
  return std::visit(
      [](const auto& what) {
        if constexpr (requires { what.samples; }) {
          return what.samples;
        } else if constexpr (requires { what.message; }) {
          return what.message.value.samples;
        } else {
          return Samples{};
        }
      },
      task.what);
}

bool takes_samples(const Task& task) {
  return !is<AddGradient>(task) && !is<Clip>(task) && !is<Update>(task) && !is<Reduce>(task);
}

void set_samples(Task& task, const Samples& samples) {
  std::visit(
      [&](auto& what) {
        if constexpr (requires { what.samples; }) what.samples = samples;
        if constexpr (requires { what.message; }) what.message.value.samples = samples;
      },
      task.what);
}

std::optional<int> delay_of(const Task& task) {
  return std::visit(
      [](const auto& what) -> std::optional<int> {
        if constexpr (requires { what.delay; }) return what.delay;
        return std::nullopt;
      },
      task.what);
}

void set_delay(Task& task, int delay) {
  std::visit(
      [&](auto& what) {
        if constexpr (requires { what.delay; }) what.delay = delay;
      },
      task.what);
}

const Message* message_of(const Task& task) {
  if (const auto* send = std::get_if<Send>(&task.what)) return &send->message;
  if (const auto* receive = std::get_if<Receive>(&task.what)) return &receive->message;
  return nullptr;
}

Message* message_of(Task& task) {
  if (auto* send = std::get_if<Send>(&task.what)) return &send->message;
  if (auto* receive = std::get_if<Receive>(&task.what)) return &receive->message;
  return nullptr;
}

namespace {

/// All of it as bf16, or `rows` of a message of `picked`: rows of a tensor are picked by their
/// sender, those of a diff put back by their receiver.
std::optional<Value> packed(const Message& message, Role picked, Role rows) {
  const Value& value = message.value;
  if (message.half) {
    const Role role = value.role == Role::diff ? Role::half_diff : Role::half_tensor;
    return Value{.role = role, .index = value.index, .samples = value.samples};
  }
  if (message.list < 0 || value.role != picked) return std::nullopt;
  return Value{.role = rows, .index = message.list, .samples = value.samples};
}

}  // namespace

std::optional<Value> packed_value(const Send& send) {
  return packed(send.message, Role::tensor, Role::sent_rows);
}

std::optional<Value> packed_value(const Receive& receive) {
  return packed(receive.message, Role::diff, Role::received_rows);
}

std::optional<Value> packed_value(const Task& task) {
  if (const auto* send = std::get_if<Send>(&task.what)) return packed_value(*send);
  if (const auto* receive = std::get_if<Receive>(&task.what)) return packed_value(*receive);
  return std::nullopt;
}

}  // namespace plait::plan
