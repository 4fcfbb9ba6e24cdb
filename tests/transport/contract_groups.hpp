// Promises about groups: collectives, groups of groups, traffic.
#pragma once

#include <algorithm>
#include <chrono>
#include <thread>

#include "transport/contract_tools.hpp"

namespace plait::transport::contract {

inline void all_gather_is_in_rank_order(Group& group) {
  for (const std::size_t size : {0, 1, 8, 10000}) {
    const std::vector<std::byte> mine = pattern(size, group.rank(), 6);
    std::vector<std::byte> all(size * group.size());
    group.all_gather(mine, all);
    for (int member = 0; member < group.size(); ++member) {
      const std::vector<std::byte> expected = pattern(size, member, 6);
      require(std::equal(expected.begin(), expected.end(), all.begin() + size * member),
              "the piece of {} is another", member);
    }
  }
  std::vector<std::byte> wrong(3 * group.size() + 1);
  require(!thrown<Failure>([&] { group.all_gather(std::span(wrong).first(3), wrong); }).empty(),
          "");
}

inline void broadcast_comes_from_every_root(Group& group) {
  for (int root = 0; root < group.size(); ++root) {
    for (const std::size_t size : {0, 5, 70000}) {
      std::vector<std::byte> bytes(size);
      if (group.rank() == root) bytes = pattern(size, root, 8);
      group.broadcast(bytes, root);
      require(bytes == pattern(size, root, 8), "{} bytes from {} came otherwise", size, root);
    }
  }
  require(!thrown<Failure>([&] { group.broadcast({}, group.size()); }).empty(), "");
}

/// Times are of one clock: the members of these tests are on one machine.
inline void nobody_leaves_a_barrier_before_all_are_there(Group& group) {
  for (int late = 0; late < group.size(); ++late) {
    if (group.rank() == late) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    double times[2] = {now_seconds(), 0};
    group.barrier();
    times[1] = now_seconds();
    std::vector<double> all(2 * group.size());
    group.all_gather(std::as_bytes(std::span(times)), std::as_writable_bytes(std::span(all)));
    for (int a = 0; a < group.size(); ++a) {
      for (int b = 0; b < group.size(); ++b) {
        require(all[2 * a + 1] >= all[2 * b], "{} left before {} came", a, b);
      }
    }
  }
}

inline void groups_split_by_colour_and_key(Group& group) {
  const std::unique_ptr<Group> parity = group.split(group.rank() % 2, 0);
  require(parity->size() == (group.size() + (group.rank() % 2 == 0 ? 1 : 0)) / 2, "size {}",
          parity->size());
  require(parity->rank() == group.rank() / 2, "rank {}", parity->rank());
  require(parity->node(parity->rank()) == group.node(group.rank()), "the node has changed");

  const std::unique_ptr<Group> reversed = group.split(-7, -group.rank());
  require(reversed->size() == group.size(), "size {}", reversed->size());
  require(reversed->rank() == group.size() - 1 - group.rank(), "rank {}", reversed->rank());
  int first = group.rank();
  reversed->broadcast(bytes_of(first), 0);
  require(first == group.size() - 1, "the first of the reversed group is {}", first);

  const std::unique_ptr<Group> alone = reversed->split(reversed->rank(), 0);
  require(alone->size() == 1 && alone->rank() == 0, "not alone");
  alone->barrier();
}

/// Equal tags in several groups over the same members, received in another order.
inline void groups_do_not_mix(Group& group) {
  std::vector<std::unique_ptr<Group>> groups;
  groups.push_back(group.split(0, group.rank()));
  groups.push_back(group.split(0, group.rank()));
  groups.push_back(groups[0]->split(0, group.rank()));
  std::vector<int> sent{10, 11, 12};
  std::vector<Request> requests;
  int to_parent = 9;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    requests.push_back(groups[i]->isend(bytes_of(sent[i]), next(group), 4));
  }
  requests.push_back(group.isend(bytes_of(to_parent), next(group), 4));
  int value = 0;
  group.irecv(bytes_of(value), previous(group), 4).wait();
  require(value == 9, "the parent's message is {}", value);
  for (int i = 2; i >= 0; --i) {
    groups[i]->irecv(bytes_of(value), previous(group), 4).wait();
    require(value == 10 + i, "the message of group {} is {}", i, value);
  }
  std::vector<float> ones(100, 1);
  for (const auto& part : groups) part->all_reduce(ones);
  require(ones[99] == std::pow(static_cast<float>(group.size()), 3.0F), "sum {}", ones[99]);
  for (Request& request : requests) request.wait();
}

/// Of a group that counts; the suite also runs on groups for control.
inline void traffic_is_what_was_sent(Group& group) {
  Request to_itself = group.isend({}, group.rank(), 0);
  group.irecv({}, group.rank(), 0).wait();
  if (group.traffic().messages == 0) return;  // not counted
  const std::unique_ptr<Group> fresh = group.split(0, group.rank());
  require(fresh->traffic().messages == 0 && fresh->traffic().bytes == 0, "not fresh");
  std::vector<std::byte> bytes(1000);
  Request send = fresh->isend(bytes, next(group), 0);
  fresh->ireceive(1000, previous(group), 0).wait();
  require(fresh->traffic().messages == 1, "{} messages", fresh->traffic().messages);
  require(fresh->traffic().bytes == 1000, "{} bytes", fresh->traffic().bytes);

  constexpr int kShard = 160;
  const int others = group.size() - 1;
  std::vector<float> values(static_cast<std::size_t>(kShard) * group.size());
  fresh->all_reduce(values, Wire::bf16);
  require(fresh->traffic().messages == 1 + 2 * others, "{} messages", fresh->traffic().messages);
  require(fresh->traffic().bytes == 1000 + 2 * others * kShard * 2, "{} bytes",
          fresh->traffic().bytes);
}

inline std::vector<Case> group_cases() {
  return {{"AllGatherIsInRankOrder", all_gather_is_in_rank_order},
          {"BroadcastComesFromEveryRoot", broadcast_comes_from_every_root},
          {"NobodyLeavesABarrierBeforeAllAreThere", nobody_leaves_a_barrier_before_all_are_there},
          {"GroupsSplitByColourAndKey", groups_split_by_colour_and_key},
          {"GroupsDoNotMix", groups_do_not_mix},
          {"TrafficIsWhatWasSent", traffic_is_what_was_sent}};
}

}  // namespace plait::transport::contract
