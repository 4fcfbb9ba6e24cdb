// A network cut by rows, and its plan, by hand.
#pragma once

#include "plan/hand_made.hpp"

namespace plait::plan::hand_made {

/// Layer a has 4 rows on worker 0 and 5 on worker 1, which reads rows 0 and 2 of layer a of worker
/// 0 in its layer b; worker 0 reads rows 1 and 4 of worker 1's. Layer c is worker 0's and reads all
/// of layer b. Tensors 9, 10 and 11 are the sums before a neighbour's part is added.
inline Network cut_network() {
  Network net{
      .name = "cut", .blocks = {}, .tensors = {16, 4, 5, 3, 2, 2, 2, 3, 2, 3, 2, 3}, .input = {16}};
  net.blocks = {{.name = "a@0", .srcs = {0}, .dst = 1, .parameters = 8, .macs = 8},
                {.name = "a@1", .srcs = {0}, .dst = 2, .parameters = 9, .macs = 9},
                {.name = "b@0", .srcs = {1}, .dst = 9, .parameters = 6, .macs = 6},
                {.name = "b@0<1", .srcs = {4, 9}, .dst = 3, .parameters = 4, .macs = 4},
                {.name = "b@1", .srcs = {2}, .dst = 10, .parameters = 7, .macs = 7},
                {.name = "b@1<0", .srcs = {6, 10}, .dst = 5, .parameters = 3, .macs = 3},
                {.name = "c@0", .srcs = {3}, .dst = 11, .parameters = 9, .macs = 9},
                {.name = "c@0<1", .srcs = {8, 11}, .dst = 7, .parameters = 6, .macs = 6}};
  return net;
}

inline Task rows(TaskKind kind, Role role, int tensor, int peer, int list) {
  const Message message{.value = {.role = role, .index = tensor}, .peer = peer, .list = list};
  if (kind == TaskKind::send) return {.what = Send{message}};
  return {.what = Receive{message}};
}
inline Task added_rows(int tensor, int peer, int list) {
  return {.what = Receive{
              {.value = {.role = Role::diff, .index = tensor}, .peer = peer, .list = list}, true}};
}

/// As the strategy sparse_rows would make it.
inline Plan cut_by_rows() {
  constexpr auto send = TaskKind::send;
  constexpr auto receive = TaskKind::receive;
  Plan plan = empty_plan("rows", 2);
  plan.network = cut_network();
  plan.row_lists = {{1, 4}, {0, 2}, {0, 1}};
  std::vector<Task>& first = plan.programs[0].tasks;
  Writer write(plan.programs[0]);
  write.task(TaskKind::load).forward(0, 0);
  first.push_back(rows(send, Role::tensor, 1, 1, 1));
  write.forward(2, 2);
  first.push_back(rows(receive, Role::tensor, 4, 1, 0));
  write.forward(3, 3).forward(6, 6);
  first.push_back(rows(receive, Role::tensor, 8, 1, 2));
  write.forward(7, 7).task(TaskKind::loss).task(TaskKind::backward_data, 7);
  first.push_back(rows(send, Role::diff, 8, 1, 2));
  write.backward(plan.network, 6, 6).task(TaskKind::backward_weights, 7);
  write.task(TaskKind::backward_data, 3);
  first.push_back(rows(send, Role::diff, 4, 1, 0));
  write.backward(plan.network, 2, 2).task(TaskKind::backward_weights, 3);
  first.push_back(added_rows(1, 1, 1));
  write.backward(plan.network, 0, 0);
  write.update(0).update(2).update(3).update(6).update(7);

  std::vector<Task>& second = plan.programs[1].tasks;
  Writer other(plan.programs[1]);
  other.task(TaskKind::load).forward(1, 1);
  second.push_back(rows(send, Role::tensor, 2, 0, 0));
  other.forward(4, 4);
  second.push_back(rows(receive, Role::tensor, 6, 0, 1));
  other.forward(5, 5);
  second.push_back(rows(send, Role::tensor, 5, 0, 2));
  second.push_back(rows(receive, Role::diff, 5, 0, 2));
  other.task(TaskKind::backward_data, 5);
  second.push_back(rows(send, Role::diff, 6, 0, 1));
  other.backward(plan.network, 4, 4).task(TaskKind::backward_weights, 5);
  second.push_back(added_rows(2, 0, 0));
  other.backward(plan.network, 1, 1).update(1).update(4).update(5);
  return plan;
}

}  // namespace plait::plan::hand_made
