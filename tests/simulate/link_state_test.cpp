// The links by hand: what is shared, what is not, and how long an exchange holds the ways.
#include "simulate/link_state.hpp"

#include <gtest/gtest.h>

namespace plait::simulate {
namespace {

/// Inside 100 B/s and 1 s, between 10 B/s and 2 s.
plan::Machine two_links(int nodes, int workers_per_node) {
  return {.nodes = nodes,
          .workers_per_node = workers_per_node,
          .inside = {.bytes_per_second = 100, .latency_seconds = 1},
          .between = {.bytes_per_second = 10, .latency_seconds = 2}};
}

TEST(LinkState, InsideANodeNothingIsShared) {
  LinkState ways(two_links(1, 3));
  EXPECT_DOUBLE_EQ(ways.send(5, {0, 1, 200}), 8);
  EXPECT_DOUBLE_EQ(ways.send(5, {0, 1, 200}), 8);
  EXPECT_DOUBLE_EQ(ways.send(5, {2, 1, 0}), 6);
}

TEST(LinkState, TheWayOutCarriesOneMessageAtATime) {
  LinkState ways(two_links(3, 2));
  EXPECT_DOUBLE_EQ(ways.send(0, {0, 2, 30}), 5);   // 3 s on the way, 2 s of latency
  EXPECT_DOUBLE_EQ(ways.send(1, {1, 4, 10}), 6);   // another worker, another node: begins at 3
  EXPECT_DOUBLE_EQ(ways.send(1, {0, 1, 100}), 3);  // inside meanwhile
  EXPECT_DOUBLE_EQ(ways.send(1, {2, 0, 10}), 4);   // the way back is another one
  EXPECT_DOUBLE_EQ(ways.send(20, {0, 2, 10}), 23);
}

TEST(LinkState, TheWayInCarriesOneMessageAtATime) {
  LinkState ways(two_links(3, 1));
  EXPECT_DOUBLE_EQ(ways.send(0, {0, 2, 30}), 5);
  EXPECT_DOUBLE_EQ(ways.send(0, {1, 2, 20}), 7);  // begins at 3
  EXPECT_DOUBLE_EQ(ways.send(0, {1, 0, 10}), 8);  // behind the one before on the way out: at 5
}

TEST(LinkState, ARateOfZeroTakesNoTime) {
  LinkState ways({.nodes = 2, .workers_per_node = 2});
  EXPECT_EQ(ways.send(3, {0, 1, 1000}), 3);
  EXPECT_EQ(ways.send(3, {0, 2, 1000}), 3);
  const Spread all = spread({.nodes = 2, .workers_per_node = 2}, {0, 1, 2, 3});
  EXPECT_EQ(ways.exchange(3, all, 1000), 3);
}

TEST(Spread, CountsTheMembersOfEachNode) {
  const Spread result = spread(two_links(3, 4), {1, 2, 8, 9, 11});
  EXPECT_EQ(result.members, 5);
  ASSERT_EQ(result.parts.size(), 2U);
  EXPECT_EQ(result.parts[0].node, 0);
  EXPECT_EQ(result.parts[0].members, 2);
  EXPECT_EQ(result.parts[1].node, 2);
  EXPECT_EQ(result.parts[1].members, 3);
}

TEST(LinkState, AnExchangeInsideIsWhatOneMemberPasses) {
  LinkState ways(two_links(1, 4));
  // 3 of the 4 shards of 400 bytes at 100 B/s.
  EXPECT_DOUBLE_EQ(ways.exchange(10, spread(two_links(1, 4), {0, 1, 2, 3}), 1600), 10 + 1 + 12);
  EXPECT_DOUBLE_EQ(ways.exchange(10, spread(two_links(1, 4), {2}), 1600), 10);
}

TEST(LinkState, AnExchangeBetweenNodesSharesTheirWays) {
  const plan::Machine two = two_links(2, 2);
  LinkState ways(two);
  const Spread all = spread(two, {0, 1, 2, 3});
  // Each node: 2 members send 2 shards of 10 bytes over 10 B/s: 4 s, then 2 s. Inside: 1 + 0.1 s.
  EXPECT_DOUBLE_EQ(ways.exchange(0, all, 40), 6);
  // Both ways of both nodes are held until 4.
  EXPECT_DOUBLE_EQ(ways.send(1, {1, 2, 10}), 4 + 1 + 2);
  EXPECT_DOUBLE_EQ(ways.send(1, {3, 0, 10}), 4 + 1 + 2);
  EXPECT_DOUBLE_EQ(ways.exchange(1, all, 40), 5 + 4 + 2);
}

TEST(LinkState, AnUnevenExchangeWaitsForTheBusiestNode) {
  const plan::Machine two = two_links(2, 3);
  LinkState ways(two);
  // Members 0, 1, 2 | 3: every way carries 3 x 1 shards of 10 bytes; inside 2 shards.
  EXPECT_DOUBLE_EQ(ways.exchange(0, spread(two, {0, 1, 2, 3}), 40), 3 + 2);
  // A slow inside counts when it is slower.
  plan::Machine slow = two;
  slow.inside = {.bytes_per_second = 1, .latency_seconds = 0};
  LinkState slow_ways(slow);
  EXPECT_DOUBLE_EQ(slow_ways.exchange(0, spread(slow, {0, 1, 2, 3}), 40), 20);
}

}  // namespace
}  // namespace plait::simulate
