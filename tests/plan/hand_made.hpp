// Small plans written by hand, one of every shape. Each passes the check; tests damage copies.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "plan/accesses.hpp"

namespace plait::plan::hand_made {

/// conv1 (16 parameters) -> pool (none) -> bn (8, and 8 of state) -> fc (40). Tensors of 64, 32,
/// 16, 16 and 10 elements.
inline Network network() {
  Network net{.name = "tiny", .blocks = {}, .tensors = {64, 32, 16, 16, 10}, .input = {1, 8, 8}};
  net.blocks = {
      {.name = "conv1", .srcs = {0}, .dst = 1, .parameters = 16, .macs = 500, .inner_elements = 32},
      {.name = "pool", .srcs = {1}, .dst = 2, .inner_elements = 0},
      {.name = "bn", .srcs = {2}, .dst = 3, .parameters = 8, .state = 8, .inner_elements = 16},
      {.name = "fc", .srcs = {3}, .dst = 4, .parameters = 40, .macs = 160}};
  complete(net);
  return net;
}

/// What tasks of one part of a program have in common.
struct Common {
  Samples samples{};
  int offset = 0;
  bool accumulate = false;
  int delay = 0;  ///< of forward and backward_data
};

/// Appends tasks to a program.
class Writer {
 public:
  explicit Writer(Program& program) : tasks_(program.tasks) {}
  Common with;

  Writer& add(const What& what) {
    tasks_.push_back({.when = {.offset = with.offset}, .what = what});
    return *this;
  }
  Writer& task(TaskKind kind, int block = -1) {
    switch (kind) {
      case TaskKind::load: return add(Load{with.samples});
      case TaskKind::forward:
        return add(Forward{.block = block,
                           .samples = with.samples,
                           .delay = with.delay,
                           .moves_state = !with.accumulate});
      case TaskKind::loss: return add(Loss{with.samples});
      case TaskKind::backward_data:
        return add(BackwardData{.block = block, .samples = with.samples, .delay = with.delay});
      case TaskKind::backward_weights:
        return add(
            BackwardWeights{.block = block, .samples = with.samples, .adds = with.accumulate});
      case TaskKind::clip: return add(Clip{});
      case TaskKind::update: return add(Update{block});
      default: throw std::invalid_argument("messages and reductions have other writers");
    }
  }
  Writer& forward(int first, int last) {
    for (int block = first; block <= last; ++block) task(TaskKind::forward, block);
    return *this;
  }
  /// Down the chain. Blocks without parameters have no backward_weights.
  Writer& backward(const Network& net, int first, int last) {
    for (int block = first; block >= last; --block) {
      if (!net.has_backward(block)) continue;
      task(TaskKind::backward_data, block);
      if (net.blocks[static_cast<std::size_t>(block)].parameters > 0) {
        task(TaskKind::backward_weights, block);
      }
    }
    return *this;
  }
  Writer& update(const Network& net, int first, int last) {
    for (int block = first; block <= last; ++block) {
      if (net.blocks[static_cast<std::size_t>(block)].parameters > 0) update(block);
    }
    return *this;
  }
  Writer& update(int block) {
    tasks_.push_back({.when = {.offset = with.offset}, .what = Update{.block = block}});
    return *this;
  }
  Writer& message(TaskKind kind, int tensor, bool gradient, int peer) {
    return message(kind, gradient ? Role::diff : Role::tensor, tensor, peer);
  }
  /// `index` is that of a tensor or of a block.
  Writer& message(TaskKind kind, Role role, int index, int peer) {
    const Message message{.value = {role, index, with.samples}, .peer = peer};
    return kind == TaskKind::send ? add(Send{message}) : add(Receive{message});
  }
  Writer& reduce(Move move, int bucket) {
    return add(Reduce{.move = move, .group = 0, .bucket = bucket});
  }

 private:
  std::vector<Task>& tasks_;
};

inline Plan empty_plan(const std::string& strategy, int workers) {
  Plan plan{.strategy = strategy, .machine = {.workers_per_node = workers}, .network = network()};
  plan.batch = 8;
  plan.optimizer_states = 1;
  plan.programs.resize(static_cast<std::size_t>(workers));
  return plan;
}

/// One worker, the whole minibatch `microbatches` times a part of it.
inline Plan serial(int microbatches = 1) {
  Plan plan = empty_plan("serial", 1);
  plan.microbatches = microbatches;
  Writer write(plan.programs[0]);
  for (int part = 0; part < microbatches; ++part) {
    write.with = {.samples = part_of(part, microbatches), .accumulate = part > 0};
    write.task(TaskKind::load).forward(0, 3).task(TaskKind::loss).backward(plan.network, 3, 0);
  }
  write.with = {};
  write.update(plan.network, 0, 3);
  return plan;
}

/// Every worker has the whole network and its part of the minibatch. Buckets: the gradients of fc
/// and bn, that of conv1, and bn's state, which is averaged in every `state_every`th step.
inline Plan data_parallel(int workers = 2, int state_every = 1) {
  Plan plan = empty_plan("data", workers);
  plan.groups.resize(1);
  for (int worker = 0; worker < workers; ++worker) plan.groups[0].push_back(worker);
  plan.buckets = {{.payload = Payload::gradient, .blocks = {3, 2}},
                  {.payload = Payload::gradient, .blocks = {0}},
                  {.payload = Payload::state, .blocks = {2}}};
  for (int worker = 0; worker < workers; ++worker) {
    Program& program = plan.programs[static_cast<std::size_t>(worker)];
    Writer write(program);
    write.with.samples = part_of(worker, workers);
    write.task(TaskKind::load).forward(0, 3).task(TaskKind::loss).backward(plan.network, 3, 2);
    write.reduce(Move::start, 0).backward(plan.network, 1, 0);
    write.reduce(Move::start, 1).reduce(Move::start, 2);
    for (const Move move : {Move::sum, Move::finish}) {
      write.reduce(move, 0).reduce(move, 1).reduce(move, 2);
    }
    write.task(TaskKind::clip).update(plan.network, 0, 3);
    for (Task& task : program.tasks) {
      const auto* reduce = std::get_if<Reduce>(&task.what);
      if (reduce == nullptr || reduce->bucket != 2) continue;
      task.when.every = state_every;
      task.when.phase = state_every - 1;
    }
  }
  return plan;
}

/// Two stages, conv1 pool | bn fc, two microbatches, one update after both: all forwards, then all
/// backwards.
inline Plan synchronous_pipeline() {
  Plan plan = empty_plan("pipeline", 2);
  plan.microbatches = 2;
  Writer first(plan.programs[0]);
  for (int part : {0, 1}) {
    first.with = {.samples = part_of(part, 2)};
    first.task(TaskKind::load).forward(0, 1).message(TaskKind::send, 2, false, 1);
  }
  for (int part : {0, 1}) {
    first.with = {.samples = part_of(part, 2), .accumulate = part > 0};
    first.message(TaskKind::receive, 2, true, 1).backward(plan.network, 1, 0);
  }
  first.with = {};
  first.update(plan.network, 0, 1);

  Writer second(plan.programs[1]);
  for (int part : {0, 1}) {
    second.with = {.samples = part_of(part, 2), .accumulate = part > 0};
    second.task(TaskKind::load).message(TaskKind::receive, 2, false, 0).forward(2, 3);
    second.task(TaskKind::loss).backward(plan.network, 3, 2);
    second.message(TaskKind::send, 2, true, 0);
  }
  second.with = {};
  second.update(plan.network, 2, 3);
  return plan;
}

/// The same stages, a new minibatch in every step: the second stage is a step late, the backward of
/// the first two steps. It reads the weights its forward read.
inline Plan asynchronous_pipeline() {
  Plan plan = empty_plan("async", 2);
  Writer first(plan.programs[0]);
  first.with.delay = 2;
  first.task(TaskKind::load).forward(0, 0);
  first.with.delay = 0;
  first.forward(1, 1).message(TaskKind::send, 2, false, 1);
  first.with.offset = 2;
  first.message(TaskKind::receive, 2, true, 1).backward(plan.network, 1, 1);
  first.with.delay = 2;
  first.backward(plan.network, 0, 0).update(plan.network, 0, 1);

  Writer second(plan.programs[1]);
  second.with.offset = 1;
  second.task(TaskKind::load).message(TaskKind::receive, 2, false, 0).forward(2, 3);
  second.task(TaskKind::loss).backward(plan.network, 3, 2);
  second.message(TaskKind::send, 2, true, 0).update(plan.network, 2, 3);
  return plan;
}

/// Serial, but backward_data of bn runs on a second worker: what it reads and leaves travels, and
/// so do the weights.
inline Plan lent_backward() {
  Plan plan = empty_plan("lent", 2);
  Writer first(plan.programs[0]);
  first.task(TaskKind::load).forward(0, 3).task(TaskKind::loss).backward(plan.network, 3, 3);
  for (const auto& [role, index] : {std::pair{Role::tensor, 2}, {Role::saved, 2}, {Role::diff, 3}})
    first.message(TaskKind::send, role, index, 1);
  first.message(TaskKind::receive, Role::diff, 2, 1).backward(plan.network, 1, 0);
  first.message(TaskKind::receive, Role::pending, 2, 1).task(TaskKind::backward_weights, 2);
  first.update(plan.network, 0, 3).message(TaskKind::send, Role::weights, 2, 1);

  Writer second(plan.programs[1]);
  for (const auto& [role, index] : {std::pair{Role::tensor, 2}, {Role::saved, 2}, {Role::diff, 3}})
    second.message(TaskKind::receive, role, index, 0);
  second.task(TaskKind::backward_data, 2).message(TaskKind::send, Role::diff, 2, 0);
  second.message(TaskKind::send, Role::pending, 2, 0);
  second.message(TaskKind::receive, Role::weights, 2, 0);
  return plan;
}

struct Named {
  std::string name;
  Plan plan;
};

inline std::vector<Named> all_plans() {
  return {{"serial", serial()},
          {"serial_microbatches", serial(4)},
          {"data_parallel", data_parallel()},
          {"data_parallel_4", data_parallel(4)},
          {"state_every_4", data_parallel(2, 4)},
          {"synchronous_pipeline", synchronous_pipeline()},
          {"asynchronous_pipeline", asynchronous_pipeline()},
          {"lent_backward", lent_backward()}};
}

/// Bytes of a value as the planner guesses them (memory.hpp), written down once more.
inline std::size_t value_bytes(const Plan& plan, const Value& value) {
  const auto index = static_cast<std::size_t>(value.index);
  const auto floats = [&](std::int64_t per_sample) {
    return static_cast<std::size_t>(4 * per_sample * value.samples.count(plan.batch));
  };
  switch (value.role) {
    case Role::tensor:
    case Role::diff: return floats(plan.network.tensors.at(index));
    case Role::targets: return floats(1);
    case Role::saved: return floats(plan.network.blocks.at(index).inner_elements);
    case Role::pending:
      if (plan.network.blocks.at(index).parameters == 0) return 0;
      return floats(plan.network.blocks.at(index).inner_elements);
    case Role::partial:
      return static_cast<std::size_t>(4 * plan.network.blocks.at(index).parameters);
    case Role::half_tensor:
    case Role::half_diff: return floats(plan.network.tensors.at(index)) / 2;
    case Role::sent_rows:
    case Role::received_rows: return floats(std::ssize(plan.row_lists.at(index)));
    default: return 0;
  }
}

/// Position of the first task of this kind (and block, or tensor) in a worker's program; -1: none.
inline int position(const Plan& plan, int worker, TaskKind kind, int block = -1) {
  const std::vector<Task>& tasks = plan.programs[static_cast<std::size_t>(worker)].tasks;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    if (kind_of(tasks[i]) == kind && (block < 0 || block_of(tasks[i]) == block))
      return static_cast<int>(i);
  }
  return -1;
}

inline Task& task(Plan& plan, int worker, TaskKind kind, int block = -1) {
  const int at = position(plan, worker, kind, block);
  return plan.programs[static_cast<std::size_t>(worker)].tasks.at(static_cast<std::size_t>(at));
}

inline Task& message_task(Plan& plan, int worker, TaskKind kind, Role role) {
  std::vector<Task>& tasks = plan.programs[static_cast<std::size_t>(worker)].tasks;
  for (Task& task : tasks) {
    if (kind_of(task) == kind && message_of(task)->value.role == role) return task;
  }
  throw std::out_of_range("no such message");
}

inline Message& message(Plan& plan, int worker, TaskKind kind, Role role) {
  return *message_of(message_task(plan, worker, kind, role));
}

inline std::vector<Task>& tasks_of(Plan& plan, int worker) {
  return plan.programs[static_cast<std::size_t>(worker)].tasks;
}

inline void erase(Plan& plan, int worker, TaskKind kind, int block = -1) {
  std::vector<Task>& tasks = tasks_of(plan, worker);
  tasks.erase(tasks.begin() + position(plan, worker, kind, block));
}

/// Neither sent nor received any more.
inline void erase_messages(Plan& plan, Role role) {
  for (Program& program : plan.programs) {
    std::erase_if(program.tasks, [&](const Task& task) {
      const Message* message = message_of(task);
      return message != nullptr && message->value.role == role;
    });
  }
}

/// Takes the task out and puts it in front of what is then at `to`.
inline void move_to(Plan& plan, int worker, int from, int to) {
  std::vector<Task>& tasks = tasks_of(plan, worker);
  const Task moved = tasks[static_cast<std::size_t>(from)];
  tasks.erase(tasks.begin() + from);
  tasks.insert(tasks.begin() + to, moved);
}

}  // namespace plait::plan::hand_made
