// The link between pretended nodes: how long a message takes at least, and what is not slowed.
#include <gtest/gtest.h>

#include <atomic>

#include "transport/contract_tools.hpp"
#include "transport/threads.hpp"

namespace plait::transport {
namespace {

using contract::bytes_of;

/// 10 MB/s and 20 ms; a message of 1 MB takes 0.1 s and 20 ms.
ThreadWorldOptions slow(int nodes, int members_per_node) {
  return {.nodes = nodes,
          .members_per_node = members_per_node,
          .between_nodes = {.bytes_per_second = 10e6, .latency_seconds = 0.02}};
}

TEST(ThreadLink, TakesLatencyAndBytesByRate) {
  ThreadWorld world(slow(2, 1));
  std::atomic<double> sent_at = 0;
  run_members(world, [&](int rank) {
    const std::unique_ptr<Group> group = world.group(rank);
    std::vector<std::byte> bytes(1000000);
    if (rank == 0) {
      sent_at = now_seconds();
      Request send = group->isend(bytes, 1, 0);
      EXPECT_FALSE(send.done());
      send.wait();
      EXPECT_GE(now_seconds() - sent_at, 0.1);  // the last byte has left
    } else {
      group->irecv(bytes, 0, 0).wait();
      EXPECT_GE(now_seconds() - sent_at, 0.12);
    }
  });
}

TEST(ThreadLink, IsMeasuredFromTheSend) {
  ThreadWorld world(slow(2, 1));
  const std::unique_ptr<Group> sender = world.group(0);
  const std::unique_ptr<Group> receiver = world.group(1);
  std::vector<std::byte> sent(500000);
  std::vector<std::byte> received(500000);
  Request receive = receiver->irecv(received, 0, 0);
  const Stopwatch watch;
  const Request send = sender->isend(sent, 1, 0);
  EXPECT_FALSE(receive.done());
  receive.wait();
  EXPECT_GE(watch.seconds(), 0.07);
}

TEST(ThreadLink, CarriesOneMessageAtATimeInTheOrderOfSending) {
  ThreadWorld world(slow(3, 1));
  const std::unique_ptr<Group> sender = world.group(0);
  const std::unique_ptr<Group> near = world.group(1);
  const std::unique_ptr<Group> far = world.group(2);
  std::vector<std::byte> bytes(500000);
  const Stopwatch watch;
  const Request first = sender->isend(bytes, 1, 0);
  const Request second = sender->isend(bytes, 2, 0);  // to another node, by the same link
  const Request third = sender->isend({}, 1, 1);
  Incoming to_far = far->ireceive(bytes.size(), 0, 0);
  to_far.wait();
  EXPECT_GE(watch.seconds(), 0.12);
  to_far.release();
  near->irecv({}, 0, 1).wait();
  EXPECT_GE(watch.seconds(), 0.12);
  near->ireceive(bytes.size(), 0, 0).wait();
}

TEST(ThreadLink, SlowsNeitherControlNorNeighbours) {
  ThreadWorld world({.nodes = 2,
                     .members_per_node = 2,
                     .between_nodes = {.bytes_per_second = 1, .latency_seconds = 0}});
  const auto group = [&](int rank) { return world.group(rank); };
  const std::unique_ptr<Group> sender = group(0);
  const std::unique_ptr<Group> neighbour = group(1);
  const std::unique_ptr<Group> stranger = group(2);
  const std::unique_ptr<Group> control = world.control_group(0);
  const std::unique_ptr<Group> stranger_control = world.control_group(2);
  std::vector<std::byte> bytes(500000);  // days
  const Request slow_one = sender->isend(bytes, 2, 0);
  Request slow_receive = stranger->irecv(bytes, 0, 0);
  int value = 7;
  int seen = 0;
  const Request send = sender->isend(bytes_of(value), 1, 0);
  neighbour->irecv(bytes_of(seen), 0, 0).wait();
  EXPECT_EQ(seen, 7);
  const Request told = control->isend(bytes_of(value), 2, 0);
  seen = 0;
  stranger_control->irecv(bytes_of(seen), 0, 0).wait();
  EXPECT_EQ(seen, 7);
  EXPECT_FALSE(slow_receive.done());
  EXPECT_EQ(control->traffic().messages, 0);
  EXPECT_EQ(sender->traffic().messages, 2);
  world.abort("enough");
}

TEST(ThreadLink, AnAbortDoesNotWaitForIt) {
  ThreadWorld world({.nodes = 2, .between_nodes = {.bytes_per_second = 1, .latency_seconds = 9}});
  const std::unique_ptr<Group> sender = world.group(0);
  const std::unique_ptr<Group> receiver = world.group(1);
  std::vector<std::byte> bytes(1000);
  Request send = sender->isend(bytes, 1, 0);
  Incoming receive = receiver->ireceive(bytes.size(), 0, 0);
  EXPECT_FALSE(receive.done());
  world.abort("enough");
  EXPECT_TRUE(receive.done());
  EXPECT_EQ(contract::thrown<Aborted>([&] { receive.wait(); }), "enough");
  EXPECT_EQ(contract::thrown<Aborted>([&] { send.wait(); }), "enough");
}

}  // namespace
}  // namespace plait::transport
