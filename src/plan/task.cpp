// Names and classes of task kinds and roles.
#include "plan/task.hpp"

namespace plait {

std::string_view name_of(TaskKind kind) {
  switch (kind) {
    case TaskKind::load: return "load";
    case TaskKind::forward: return "forward";
    case TaskKind::loss: return "loss";
    case TaskKind::backward_data: return "backward_data";
    case TaskKind::backward_weights: return "backward_weights";
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

std::string_view name_of(Role role) {
  switch (role) {
    case Role::tensor: return "tensor";
    case Role::diff: return "diff";
    case Role::targets: return "targets";
    case Role::saved: return "saved";
    case Role::pending: return "pending";
    case Role::partial: return "partial";
    case Role::packed: return "packed";
    case Role::weights: return "weights";
    case Role::gradient: return "gradient";
    case Role::state: return "state";
  }
  return "unknown";
}

bool is_permanent(Role role) {
  return role == Role::weights || role == Role::gradient || role == Role::state;
}

bool is_compute(TaskKind kind) {
  switch (kind) {
    case TaskKind::forward:
    case TaskKind::loss:
    case TaskKind::backward_data:
    case TaskKind::backward_weights:
    case TaskKind::clip:
    case TaskKind::update: return true;
    default: return false;
  }
}

bool is_reduce(TaskKind kind) {
  return kind == TaskKind::reduce_start || kind == TaskKind::reduce_sum ||
         kind == TaskKind::reduce_finish;
}

bool takes_samples(TaskKind kind) {
  return !is_reduce(kind) && kind != TaskKind::clip && kind != TaskKind::update;
}

}  // namespace plait
