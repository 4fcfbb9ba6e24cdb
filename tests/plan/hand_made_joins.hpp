// Networks with joins and repeats, and their plans, by hand.
#pragma once

#include "plan/hand_made.hpp"

namespace plait::plan::hand_made {

/// enter: 0 -> 1; front: 0 -> 2; back: 1 -> 3; 4 = 2 - 1; coarse: 4 -> 5; 6 = 3 + 5; fc: 6 -> 7.
/// Tensors 3 and 5 have the gradient of 6, and 4 that of 2.
inline Network joined_network() {
  Network net{.name = "joined",
              .blocks = {},
              .tensors = {64, 16, 16, 16, 16, 16, 16, 10},
              .input = {1, 8, 8}};
  net.blocks = {
      {.name = "enter", .srcs = {0}, .dst = 1, .parameters = 8, .added = true},
      {.name = "front", .srcs = {0}, .dst = 2, .parameters = 24, .inner_elements = 8},
      {.name = "back", .srcs = {1}, .dst = 3, .parameters = 16, .inner_elements = 4},
      {.name = "residual", .srcs = {2, 1}, .dst = 4, .added = true, .join = plan::Join::subtract},
      {.name = "coarse", .srcs = {4}, .dst = 5, .parameters = 12, .added = true},
      {.name = "sum", .srcs = {3, 5}, .dst = 6, .added = true, .join = plan::Join::add},
      {.name = "fc", .srcs = {6}, .dst = 7, .parameters = 40}};
  net.diffs = {0, 1, 2, 6, 2, 6, 6, 7};
  complete(net);
  return net;
}

/// backward_data of a join: what `tensor` has of it.
inline Task join_back(int block, int tensor) {
  return {.what = BackwardData{.block = block, .tensor = tensor}};
}

/// All but front's tasks: forward up to the difference needs tensor 2, backward leaves its
/// gradient.
inline void write_joined_forward(Writer& write) { write.forward(3, 6).task(TaskKind::loss); }
inline void write_joined_backward(const Network& net, Writer& write, std::vector<Task>& tasks) {
  write.backward(net, 2, 2);
  tasks.push_back(join_back(3, 1));
  write.task(TaskKind::backward_weights, 4).backward(net, 0, 0);
}

/// On one worker.
inline Plan joined() {
  Plan plan = empty_plan("joined", 1);
  plan.network = joined_network();
  Writer write(plan.programs[0]);
  write.task(TaskKind::load).forward(0, 2);
  write_joined_forward(write);
  write.backward(plan.network, 6, 6).task(TaskKind::backward_data, 4);
  write_joined_backward(plan.network, write, plan.programs[0].tasks);
  write.backward(plan.network, 1, 1).update(0).update(1).update(2).update(4).update(6);
  return plan;
}

/// front on worker 0, everything else on worker 1; `half`: what crosses travels as bf16.
inline Plan joined_on_two(bool half) {
  Plan plan = empty_plan("joined", 2);
  plan.network = joined_network();
  Writer first(plan.programs[0]);
  first.task(TaskKind::load).forward(1, 1).message(TaskKind::send, 2, false, 1);
  first.message(TaskKind::receive, 2, true, 1).backward(plan.network, 1, 1).update(1);
  Writer second(plan.programs[1]);
  second.task(TaskKind::load).forward(0, 0).forward(2, 2).message(TaskKind::receive, 2, false, 0);
  write_joined_forward(second);
  second.backward(plan.network, 6, 6).task(TaskKind::backward_data, 4);
  second.message(TaskKind::send, 2, true, 0);
  write_joined_backward(plan.network, second, plan.programs[1].tasks);
  second.update(0).update(2).update(4).update(6);
  for (Program& program : plan.programs) {
    for (Task& task : program.tasks) {
      if (Message* message = message_of(task)) message->half = half;
    }
  }
  return plan;
}

/// body: 0 -> 1 (with running statistics), once more 1 -> 2 with the same weights, fc: 2 -> 3. The
/// gradients of the two are added, and the statistics move in the second.
inline Plan repeated() {
  Plan plan = empty_plan("repeated", 1);
  Network& net = plan.network;
  net = {.name = "repeated", .blocks = {}, .tensors = {16, 16, 16, 10}, .input = {16}};
  net.blocks = {
      {.name = "body", .srcs = {0}, .dst = 1, .parameters = 32, .state = 4},
      {.name = "body#2", .srcs = {1}, .dst = 2, .parameters = 32, .state = 4, .repeats = 0},
      {.name = "fc", .srcs = {2}, .dst = 3, .parameters = 40}};
  Writer write(plan.programs[0]);
  write.task(TaskKind::load);
  write.with.accumulate = true;
  write.forward(0, 0);
  write.with.accumulate = false;
  write.forward(1, 2).task(TaskKind::loss).backward(net, 2, 1);
  write.with.accumulate = true;
  write.backward(net, 0, 0).update(0).update(2);
  return plan;
}

}  // namespace plait::plan::hand_made
