// Networks with sums, differences and repeats, and their plans, by hand.
#pragma once

#include "plan/hand_made.hpp"

namespace plait::plan::hand_made {

/// A block with one layer that reads one tensor, or two.
inline graph::BlockSpec one_layer(const std::string& name, const ops::Operation& layer,
                                  int inputs = 1) {
  graph::BlockSpec spec{.name = name, .nodes = {}};
  std::vector<int> all;
  for (int k = 0; k < inputs; ++k) all.push_back(graph::block_input(k));
  spec.join("", layer, all);
  return spec;
}

/// enter: 0 -> 1; front: 0 -> 2; 4 = 2 - 1; back: 1 -> 3; coarse: 4 -> 5; 6 = 3 + 5; fc: 6 -> 7.
/// Tensor 1 is read by the difference, and then by back, which begins its gradient.
inline Network joined_network() {
  Network net{
      .name = "joined", .blocks = {}, .tensors = {64, 16, 16, 16, 16, 16, 16, 10}, .input = {64}};
  const auto linear = [&](const std::string& name, int src, int dst, bool added) {
    const std::int64_t out = net.tensors[static_cast<std::size_t>(dst)];
    net.blocks.push_back({.name = name,
                          .srcs = {src},
                          .dst = dst,
                          .parameters = out * net.tensors[static_cast<std::size_t>(src)],
                          .spec = one_layer(name, ops::Linear{.out_features = out, .bias = false}),
                          .added = added});
  };
  const auto sum = [&](const std::string& name, const ops::Operation& layer, std::vector<int> srcs,
                       int dst) {
    net.blocks.push_back({.name = name,
                          .srcs = std::move(srcs),
                          .dst = dst,
                          .spec = one_layer(name, layer, 2),
                          .added = true});
  };
  linear("enter", 0, 1, true);
  linear("front", 0, 2, false);
  sum("residual", ops::Subtract{}, {2, 1}, 4);
  linear("back", 1, 3, false);
  linear("coarse", 4, 5, true);
  sum("sum", ops::Add{}, {3, 5}, 6);
  linear("fc", 6, 7, false);
  complete(net);
  return net;
}

/// backward_data of a sum for one of its tensors.
inline Task back_to(int block, int tensor) {
  return {.what = BackwardData{.block = block, .tensor = tensor}};
}

/// All but front's tasks: forward from the difference on needs tensor 2, backward leaves its
/// gradient.
inline void write_joined_forward(Writer& write) { write.forward(2, 6).task(TaskKind::loss); }
inline void write_joined_chain(const Network& net, Writer& write, std::vector<Task>& tasks) {
  write.backward(net, 6, 6).task(TaskKind::backward_data, 5).task(TaskKind::backward_data, 4);
  tasks.push_back(back_to(2, 2));
}
inline void write_joined_backward(const Network& net, Writer& write, std::vector<Task>& tasks) {
  write.backward(net, 3, 3);
  tasks.push_back(back_to(2, 1));
  write.task(TaskKind::backward_weights, 4).backward(net, 0, 0);
}

/// On one worker.
inline Plan joined() {
  Plan plan = empty_plan("joined", 1);
  plan.network = joined_network();
  Writer write(plan.programs[0]);
  write.task(TaskKind::load).forward(0, 1);
  write_joined_forward(write);
  write_joined_chain(plan.network, write, plan.programs[0].tasks);
  write_joined_backward(plan.network, write, plan.programs[0].tasks);
  write.backward(plan.network, 1, 1).update(plan.network, 0, 6);
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
  second.task(TaskKind::load).forward(0, 0).message(TaskKind::receive, 2, false, 0);
  write_joined_forward(second);
  write_joined_chain(plan.network, second, plan.programs[1].tasks);
  second.message(TaskKind::send, 2, true, 0);
  write_joined_backward(plan.network, second, plan.programs[1].tasks);
  second.update(0).update(3).update(4).update(6);
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
      {.name = "body#2", .srcs = {1}, .dst = 2, .parameters = 32, .state = 4, .weights_of = 0},
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
