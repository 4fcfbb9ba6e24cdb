// A lifeline between pretended nodes: who goes without a farewell is lost, who says it is not.
#include "transport/lifeline.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "transport/threads.hpp"

namespace plait::transport {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

/// The lifelines of all members, made at the same time.
std::vector<std::unique_ptr<Lifeline>> lifelines(int nodes, int members_per_node) {
  ThreadWorld world({.nodes = nodes, .members_per_node = members_per_node});
  std::vector<std::unique_ptr<Lifeline>> all(static_cast<std::size_t>(world.size()));
  run_members(world, [&](int rank) {
    const std::unique_ptr<Group> control = world.control_group(rank);
    all[static_cast<std::size_t>(rank)] = std::make_unique<Lifeline>(*control, 60);
  });
  return all;
}

/// What is said of a loss, if anything, before `seconds` have passed.
std::string wait_for_loss(Lifeline& lifeline, double seconds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  while (std::chrono::steady_clock::now() < end) {
    if (std::string line = lifeline.lost(); !line.empty()) return line;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return "";
}

TEST(Lifeline, ConnectsTheFirstMembersOfAllNodes) {
  const auto all = lifelines(3, 2);
  std::vector<int> counts;
  for (const auto& one : all) counts.push_back(one->connections());
  EXPECT_THAT(counts, ::testing::ElementsAre(2, 0, 1, 0, 1, 0));
  for (const auto& one : all) EXPECT_EQ(one->lost(), "");
}

TEST(Lifeline, OneNodeNeedsNone) {
  for (const auto& one : lifelines(1, 4)) EXPECT_EQ(one->connections(), 0);
}

TEST(Lifeline, TellsOfANodeThatDied) {
  auto all = lifelines(3, 1);
  all[2]->drop();
  EXPECT_THAT(wait_for_loss(*all[0], 20),
              AllOf(HasSubstr("worker 2 on "), HasSubstr("its process has ended")));
  EXPECT_EQ(all[1]->lost(), "");
}

TEST(Lifeline, TellsOfTheFirstNodesDeathToo) {
  auto all = lifelines(2, 2);
  all[0]->drop();
  EXPECT_THAT(wait_for_loss(*all[2], 20), HasSubstr("worker 0 on "));
}

TEST(Lifeline, AFarewellIsNoLoss) {
  auto all = lifelines(2, 1);
  all[1].reset();
  EXPECT_EQ(wait_for_loss(*all[0], 1.5), "");
}

TEST(Lifeline, WhoSaidFarewellHearsOfNoLoss) {
  auto all = lifelines(2, 1);
  all[0]->farewell();
  all[1]->drop();
  EXPECT_EQ(wait_for_loss(*all[0], 1.5), "");
}

}  // namespace
}  // namespace plait::transport
