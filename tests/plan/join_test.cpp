// Sums whose gradients are made one by one, blocks that repeat others and messages of half the
// width: what their tasks touch, and which plans are wrong.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plan/check.hpp"
#include "plan/hand_made_joins.hpp"
#include "plan/json.hpp"
#include "plan/versions.hpp"

namespace plait::plan {
namespace {

using hand_made::back_to;
using hand_made::erase;
using hand_made::joined;
using hand_made::joined_on_two;
using hand_made::message;
using hand_made::message_task;
using hand_made::position;
using hand_made::repeated;
using hand_made::task;
using hand_made::tasks_of;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

std::vector<std::string> words(const Plan& plan, const Task& one) {
  std::vector<std::string> list;
  for (const Access& access : accesses(plan, one)) {
    list.push_back(std::string(access.writes ? "write " : "read ") +
                   std::string(name_of(access.value.role)) + " " +
                   std::to_string(access.value.index));
  }
  return list;
}

void expect_fault(const Plan& plan, const std::string& part) {
  EXPECT_THAT(faults(plan), Contains(HasSubstr(part)));
}

TEST(Sums, GoodPlansHaveNoFault) {
  for (const Plan& plan : {joined(), joined_on_two(false), joined_on_two(true), repeated()}) {
    EXPECT_THAT(faults(plan), IsEmpty()) << plan.strategy << ", " << plan.workers() << " workers";
  }
}

TEST(Sums, BackwardMakesTheGradientOfEachTensorOrOfOne) {
  const Plan plan = joined();
  EXPECT_THAT(words(plan, {.what = BackwardData{.block = 5}}),
              UnorderedElementsAre("read diff 6", "read saved 5", "write diff 3", "write diff 5",
                                   "write pending 5"));
  EXPECT_THAT(words(plan, back_to(2, 2)),
              UnorderedElementsAre("read diff 4", "read saved 2", "write diff 2"));
  EXPECT_THAT(words(plan, back_to(2, 1)),
              UnorderedElementsAre("read diff 4", "read saved 2", "read diff 1", "write diff 1"));
}

TEST(Sums, OneByOneIsOfTheirTensorsOnly) {
  for (const int tensor : {0, 4, 6}) {
    Plan plan = joined();
    std::get<BackwardData>(task(plan, 0, TaskKind::backward_data, 2).what).tensor = tensor;
    expect_fault(plan, fmt::format("tensor {} is none of those that residual adds up", tensor));
  }
  Plan plan = joined();
  std::get<BackwardData>(task(plan, 0, TaskKind::backward_data, 4).what).tensor = 4;
  expect_fault(plan, "only of a sum the gradients are made one by one");
}

TEST(Sums, AddToAGradientThatIsThere) {
  // before back has written the gradient of its input there is nothing to subtract from
  Plan plan = joined();
  const auto& tasks = tasks_of(plan, 0);
  const auto second = std::ranges::find(tasks, back_to(2, 1)) - tasks.begin();
  hand_made::move_to(plan, 0, static_cast<int>(second),
                     position(plan, 0, TaskKind::backward_data, 3));
  expect_fault(plan, "the gradient of tensor 1");
}

TEST(Sums, ComeAfterBothTensors) {
  for (const int missing : {0, 1}) {
    Plan plan = joined();
    erase(plan, 0, TaskKind::forward, missing);
    expect_fault(plan, missing == 0 ? "tensor 1" : "tensor 2");
  }
  Plan plan = joined();
  plan.network.blocks[5].srcs[1] = 8;
  expect_fault(plan, "block sum goes from tensor 3 and 8 to 6, but there are 8 tensors");
}

TEST(Repeats, UseWeightsGradientAndStateOfTheEarlierBlock) {
  const Plan plan = repeated();
  EXPECT_THAT(words(plan, {.what = Forward{.block = 1}}),
              UnorderedElementsAre("read tensor 1", "read weights 0", "read state 0",
                                   "write state 0", "write tensor 2", "write saved 1"));
  EXPECT_THAT(words(plan, {.what = BackwardData{.block = 1}}),
              UnorderedElementsAre("read diff 2", "read saved 1", "read tensor 1", "read weights 0",
                                   "write diff 1", "write pending 1"));
  EXPECT_THAT(
      words(plan, {.what = BackwardWeights{.block = 1}}),
      UnorderedElementsAre("read diff 2", "read tensor 1", "read saved 1", "write gradient 0"));
  EXPECT_THAT(words(plan, {.what = BackwardWeights{.block = 1, .adds = true}}),
              UnorderedElementsAre("read diff 2", "read tensor 1", "read saved 1",
                                   "write partial 0", "read gradient 0", "write gradient 0"));
  EXPECT_EQ(plan.network.parameters(), 32 + 40);
  EXPECT_EQ(plan.network.home_of(1), 0);
  EXPECT_EQ(owners(plan)[0], 0);
  EXPECT_EQ(state_owners(plan)[0], 0);
}

TEST(Repeats, AreOfAnEarlierBlockWithWeightsOfItsOwn) {
  for (const int of : {1, 2, 3}) {
    Plan plan = repeated();
    plan.network.blocks[1].weights_of = of;
    expect_fault(plan, "block body#2 uses the weights of block " + std::to_string(of));
  }
  Plan plan = repeated();
  plan.network.blocks[2].weights_of = 1;
  expect_fault(plan, "block fc uses the weights of block 1");
}

TEST(Repeats, AreNotUpdated) {
  Plan plan = repeated();
  tasks_of(plan, 0).push_back({.what = Update{.block = 1}});
  expect_fault(plan, "the weights are those of block 0; only that one is updated");
}

TEST(Repeats, MoveTheStatisticsOnceAndBeginTheGradientOnce) {
  Plan plan = repeated();
  std::get<Forward>(task(plan, 0, TaskKind::forward, 0).what).moves_state = true;
  expect_fault(plan, "moves the running statistics a second time");
  plan = repeated();
  std::get<BackwardWeights>(task(plan, 0, TaskKind::backward_weights, 0).what).adds = false;
  EXPECT_THAT(faults(plan), Not(IsEmpty()));
}

TEST(Repeats, MayHaveStatisticsOfTheirOwn) {
  Plan plan = repeated();
  const std::string shared = network_hash(plan.network);
  std::get<Forward>(task(plan, 0, TaskKind::forward, 0).what).moves_state = true;
  plan.network.blocks[0].state_sets = 2;
  plan.network.blocks[0].state_set = 1;
  EXPECT_THAT(faults(plan), IsEmpty());
  EXPECT_NE(network_hash(plan.network), shared);
  for (const int set : {-1, 2}) {
    plan.network.blocks[0].state_set = set;
    expect_fault(plan, "block body has set " + std::to_string(set));
  }
  EXPECT_EQ(state_name("body", 0), "body");
  EXPECT_TRUE(is_of_another_set(state_name("body", 1) + ".running_mean"));
  EXPECT_FALSE(is_of_another_set("body.running_mean"));
}

TEST(Repeats, WithoutAnUpdateOfTheEarlierOneAreForgotten) {
  Plan plan = repeated();
  erase(plan, 0, TaskKind::update, 0);
  EXPECT_THAT(faults(plan), Not(IsEmpty()));
}

TEST(HalfMessages, HaveHalfTheBytes) {
  const Plan whole = joined_on_two(false);
  const Plan half = joined_on_two(true);
  for (int worker = 0; worker < 2; ++worker) {
    const auto& tasks = whole.programs[static_cast<std::size_t>(worker)].tasks;
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      const Task& other = half.programs[static_cast<std::size_t>(worker)].tasks[i];
      EXPECT_EQ(wire_bytes(whole, worker, tasks[i]), 2 * wire_bytes(half, worker, other));
      if (is<Send>(other)) {
        EXPECT_EQ(wire_bytes(half, worker, other), 2 * 16 * 8);
      }
    }
  }
}

TEST(HalfMessages, ArePackedOnBothSides) {
  Plan plan = joined_on_two(true);
  const Task send = message_task(plan, 0, TaskKind::send, Role::tensor);
  const Task receive = message_task(plan, 1, TaskKind::receive, Role::tensor);
  const Task back = message_task(plan, 1, TaskKind::send, Role::diff);
  EXPECT_THAT(words(plan, send), UnorderedElementsAre("read tensor 2", "write half_tensor 2"));
  EXPECT_THAT(words(plan, receive), UnorderedElementsAre("write half_tensor 2", "write tensor 2"));
  EXPECT_THAT(words(plan, back), UnorderedElementsAre("read diff 2", "write half_diff 2"));
}

TEST(HalfMessages, InDifferentWidthsAreAFault) {
  for (const Role role : {Role::tensor, Role::diff}) {
    Plan plan = joined_on_two(true);
    message(plan, role == Role::tensor ? 0 : 1, TaskKind::send, role).half = false;
    expect_fault(plan, "sends it in another width");
    plan = joined_on_two(false);
    message(plan, role == Role::tensor ? 1 : 0, TaskKind::receive, role).half = true;
    expect_fault(plan, "sends it in another width");
  }
}

TEST(HalfMessages, AreOfTensorsAndGradientsOnly) {
  Plan plan = hand_made::lent_backward();
  for (const Role role : {Role::saved, Role::pending, Role::weights}) {
    Plan copy = plan;
    for (int worker = 0; worker < 2; ++worker) {
      for (Task& one : tasks_of(copy, worker)) {
        Message* message = message_of(one);
        if (message != nullptr && message->value.role == role) message->half = true;
      }
    }
    expect_fault(copy, "only whole tensors and their gradients travel as bf16");
  }
}

TEST(Sums, AreInTheHashAndInJson) {
  const Network net = hand_made::joined_network();
  const auto differs = [&](auto change) {
    Network other = net;
    change(other.blocks);
    EXPECT_NE(network_hash(other), network_hash(net));
  };
  differs([](auto& blocks) { blocks[2].spec.nodes.front().layer = ops::Add{}; });
  differs([](auto& blocks) { std::ranges::reverse(blocks[5].srcs); });
  Network again = repeated().network;
  const std::string repeats = network_hash(again);
  again.blocks[1].weights_of = -1;
  EXPECT_NE(network_hash(again), repeats);
  EXPECT_THAT(to_json(joined_on_two(true)),
              AllOf(HasSubstr("\"subtract\""), HasSubstr("\"half\"")));
}

}  // namespace
}  // namespace plait::plan
