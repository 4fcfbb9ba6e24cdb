// Plans played by hand: makespans, waits, offsets, rests, and orders that cannot come to an end.
#include "simulate/simulate.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "simulate/made_up.hpp"

namespace plait::simulate {
namespace {

using testing::AllOf;
using testing::HasSubstr;

/// 10 B/s and 2 s between nodes, so a tensor of 40 bytes takes 4 + 2 s; inside nothing takes time.
plan::Machine machine(int nodes, int workers_per_node) {
  return {.nodes = nodes,
          .workers_per_node = workers_per_node,
          .between = {.bytes_per_second = 10, .latency_seconds = 2}};
}

const std::vector<cost::BlockSeconds> kOneTwo{{.forward = 1, .update = 0.5},
                                              {.forward = 2, .update = 1}};

TEST(Simulate, OneWorkerIsTheSumOfItsTasks) {
  plan::Plan plan = empty_plan_of(2, machine(1, 1));
  plan.programs[0].tasks = {{.what = plan::Load{}},
                            forward(0),
                            forward(1),
                            {.what = plan::Loss{}},
                            {.what = plan::BackwardData{.block = 1}},
                            {.what = plan::BackwardWeights{.block = 1}},
                            {.what = plan::BackwardWeights{.block = 0}},
                            {.what = plan::Clip{}},
                            update(0),
                            update(1)};
  const FixedCost cost({{1, 2, 4, 8}, {16, 32, 64, 128}}, 1e-3);
  const Simulation result = simulate(plan, cost, {.minibatches = 5});
  // clip reads the 800 bytes of both gradients once.
  const double step = 1 + 16 + 32 + 64 + 4 + 0.8 + 8 + 128;
  EXPECT_DOUBLE_EQ(result.seconds, 5 * step);
  EXPECT_DOUBLE_EQ(result.step_seconds, step);
  EXPECT_DOUBLE_EQ(result.utilisation, 1);
  EXPECT_EQ(result.bytes_per_step, 0);
  EXPECT_EQ(result.messages_per_step, 0);
  EXPECT_EQ(result.trace.workers[0].events().size(), 50U);
  EXPECT_EQ(result.trace.workers[0].events()[13].minibatch, 1);
}

/// Two stages on two nodes; the second waits for each tensor.
plan::Plan two_stages() {
  plan::Plan plan = empty_plan_of(2, machine(2, 1));
  plan.programs[0].tasks = {forward(0), send(1, 1), update(0)};
  plan.programs[1].tasks = {receive(1, 0), forward(1), update(1)};
  return plan;
}

/// backward_data of block 0 on one node, its backward_weights on another one.
plan::Plan split_backward(const ops::Operation& layer) {
  plan::Plan plan = empty_plan_of(1, machine(2, 1));
  plan.network.blocks[0].spec.then("layer", layer);
  const plan::Value left{.role = plan::Role::pending, .index = 0};
  plan.programs[0].tasks = {{.what = plan::BackwardData{.block = 0}},
                            {.what = plan::Send{{.value = left, .peer = 1}}}};
  plan.programs[1].tasks = {{.what = plan::Receive{{.value = left, .peer = 0}}},
                            {.what = plan::BackwardWeights{.block = 0}}};
  return plan;
}

TEST(Simulate, NobodyWaitsForAMessageThatIsEmpty) {
  const FixedCost cost({{.backward_data = 1, .backward_weights = 4}});
  const auto seconds = [&](const ops::Operation& layer) {
    return simulate(split_backward(layer), cost, {.minibatches = 1}).seconds;
  };
  EXPECT_DOUBLE_EQ(seconds(ops::Linear{.out_features = 10}), 4);
  // That of batch_norm leaves the gradient of its parameters: there at 1 + 2.
  EXPECT_DOUBLE_EQ(seconds(ops::BatchNorm{}), 7);
}

TEST(Simulate, AReceiveWaitsForTheMessage) {
  const Simulation result = simulate(two_stages(), FixedCost(kOneTwo), {.minibatches = 1});
  // Sent at 1, on the way until 5, there at 7, computed at 9, updated at 10.
  EXPECT_DOUBLE_EQ(result.seconds, 10);
  EXPECT_DOUBLE_EQ(result.step_seconds, 10);
  EXPECT_EQ(result.bytes_per_step, 40);
  EXPECT_EQ(result.messages_per_step, 1);
  const std::span<const trace::Event> sender = result.trace.workers[0].events();
  ASSERT_EQ(sender.size(), 3U);  // a send takes no time of the worker
  EXPECT_EQ(sender[1].activity, trace::Activity::communicate);
  EXPECT_EQ(sender[1].begin, sender[1].end);
  EXPECT_EQ(sender[1].bytes, 40);
  EXPECT_DOUBLE_EQ(sender[2].end, 1.5);
  const std::span<const trace::Event> receiver = result.trace.workers[1].events();
  ASSERT_EQ(receiver.size(), 4U);
  EXPECT_EQ(receiver[0].activity, trace::Activity::wait);
  EXPECT_EQ(receiver[0].task, 0);
  EXPECT_DOUBLE_EQ(receiver[0].end, 7);
  EXPECT_EQ(receiver[1].activity, trace::Activity::communicate);
  EXPECT_EQ(receiver[1].bytes, 0);
  EXPECT_DOUBLE_EQ(result.trace.workers[1].totals().wait, 7);
}

TEST(Simulate, MessagesOfTheNextMinibatchesQueueOnTheWay) {
  const Simulation result = simulate(two_stages(), FixedCost(kOneTwo), {.minibatches = 4});
  // The way is the slowest: 4 s for each tensor, without a gap from 1 s on.
  EXPECT_DOUBLE_EQ(result.step_seconds, 4);
  EXPECT_DOUBLE_EQ(result.seconds, 10 + 3 * 4);
  EXPECT_DOUBLE_EQ(result.utilisation, (1.5 + 3) / (2 * 4));
}

TEST(Simulate, TwoSendersShareTheirNodesWayOut) {
  plan::Plan plan = empty_plan_of(2, machine(2, 2));
  plan.programs[0].tasks = {forward(0), send(1, 2)};
  plan.programs[1].tasks = {send(2, 3)};  // is first on the way
  plan.programs[2].tasks = {receive(1, 0), update(0)};
  plan.programs[3].tasks = {receive(2, 1), update(1)};
  const Simulation result = simulate(plan, FixedCost(kOneTwo), {.minibatches = 1});
  EXPECT_DOUBLE_EQ(result.trace.workers[3].totals().wait, 6);
  EXPECT_DOUBLE_EQ(result.trace.workers[2].totals().wait, 4 + 4 + 2);
  // Inside a node they do not meet.
  plan.machine.between = {};
  plan.machine.inside = {.bytes_per_second = 10, .latency_seconds = 2};
  plan.machine.nodes = 1;
  plan.machine.workers_per_node = 4;
  const Simulation inside = simulate(plan, FixedCost(kOneTwo), {.minibatches = 1});
  EXPECT_DOUBLE_EQ(inside.trace.workers[3].totals().wait, 6);
  EXPECT_DOUBLE_EQ(inside.trace.workers[2].totals().wait, 7);
}

TEST(Simulate, AMessageSentEarlierGoesFirstWhoeverIsPlayedFirst) {
  // Worker 0 is played first, but its send comes at 5; that of worker 1 at 3.
  plan::Plan plan = empty_plan_of(2, machine(2, 2));
  plan.programs[0].tasks = {forward(0), send(1, 2)};
  plan.programs[1].tasks = {forward(1), send(2, 3)};
  plan.programs[2].tasks = {receive(1, 0)};
  plan.programs[3].tasks = {receive(2, 1)};
  const FixedCost cost({{.forward = 5}, {.forward = 3}});
  const Simulation result = simulate(plan, cost, {.minibatches = 1});
  EXPECT_DOUBLE_EQ(result.trace.workers[3].totals().wait, 3 + 4 + 2);
  EXPECT_DOUBLE_EQ(result.trace.workers[2].totals().wait, 7 + 4 + 2);
}

TEST(Simulate, EachOfAPairGetsItsOwnMessage) {
  // Two tensors to one worker, taken in the other order, and gradients apart from values.
  plan::Plan plan = empty_plan_of(2, machine(2, 1));
  plan::Task gradient = send(1, 1);
  plan::message_of(gradient)->value.role = plan::Role::diff;
  plan.programs[0].tasks = {send(1, 1), send(2, 1), gradient};
  plan::Task wanted = receive(1, 0);
  plan::message_of(wanted)->value.role = plan::Role::diff;
  plan.programs[1].tasks = {wanted, receive(2, 0), receive(1, 0)};
  const Simulation result = simulate(plan, FixedCost(kOneTwo), {.minibatches = 1});
  EXPECT_DOUBLE_EQ(result.seconds, 3 * 4 + 2);
  EXPECT_EQ(result.trace.workers[1].events().size(), 4U);  // one wait
}

TEST(Simulate, OffsetsFillAndDrainThePipeline) {
  // Stage 1 works one minibatch behind stage 0 inside the same step.
  plan::Plan plan = empty_plan_of(2, {.nodes = 1, .workers_per_node = 2});
  plan.programs[0].tasks = {forward(0), update(0), send(1, 1)};
  plan.programs[1].tasks = {receive(1, 0, 1), forward(1, 1), update(1, 1)};
  const Simulation result = simulate(plan, FixedCost(kOneTwo), {.minibatches = 8});
  // 1.5 s until the first tensor; then stage 1 is the slower one, 3 s for each minibatch.
  EXPECT_DOUBLE_EQ(result.seconds, 1.5 + 8 * 3);
  EXPECT_DOUBLE_EQ(result.step_seconds, 3);
  EXPECT_DOUBLE_EQ(result.utilisation, 4.5 / 6);
  const std::span<const trace::Event> events = result.trace.workers[1].events();
  EXPECT_EQ(events.front().minibatch, 0);
  EXPECT_EQ(events.front().step, 1);
  EXPECT_EQ(events.back().minibatch, 7);
  EXPECT_EQ(events.back().step, 8);
}

TEST(Simulate, AOneWorkerPipelineWithOffsetsDoesEveryMinibatchOnce) {
  plan::Plan plan = empty_plan_of(2, machine(1, 1));
  plan.programs[0].tasks = {update(1, 2), forward(1, 1), forward(0), update(0, 2)};
  const Simulation result = simulate(plan, FixedCost(kOneTwo), {.minibatches = 6});
  EXPECT_DOUBLE_EQ(result.seconds, 6 * 4.5);
  EXPECT_DOUBLE_EQ(result.step_seconds, 4.5);
  EXPECT_EQ(result.trace.workers[0].totals().events, 24);
}

TEST(Simulate, TasksOfSomeStepsRestInTheOthers) {
  plan::Plan plan = empty_plan_of(2, machine(1, 1));
  plan::Task rare = forward(1);
  rare.when.every = 4;
  rare.when.phase = 3;
  plan.programs[0].tasks = {forward(0), rare, update(0)};
  const Simulation result = simulate(plan, FixedCost(kOneTwo), {.minibatches = 8});
  EXPECT_DOUBLE_EQ(result.seconds, 8 * 1.5 + 2 * 2);
  for (const trace::Event& event : result.trace.workers[0].events()) {
    EXPECT_TRUE(event.task != 1 || event.step % 4 == 3);
  }
}

TEST(Simulate, WorkersOfANodeSlowEachOtherDown) {
  plan::Plan plan = empty_plan_of(1, {.nodes = 2, .workers_per_node = 2});
  for (const std::size_t worker : {0, 1, 2}) plan.programs[worker].tasks = {forward(0)};
  const Simulation result =
      simulate(plan, FixedCost({{.forward = 2}}, 0, 1.25), {.minibatches = 1});
  EXPECT_DOUBLE_EQ(result.trace.workers[0].totals().compute, 2.5);
  EXPECT_DOUBLE_EQ(result.trace.workers[1].totals().compute, 2.5);
  EXPECT_DOUBLE_EQ(result.trace.workers[2].totals().compute, 2);  // its neighbour has nothing to do
  EXPECT_EQ(result.trace.workers[3].totals().events, 0);
}

std::string failure(const plan::Plan& plan) {
  try {
    simulate(plan, FixedCost(kOneTwo), {.minibatches = 2});
  } catch (const Failure& error) {
    return error.what();
  }
  return "no Failure";
}

TEST(Simulate, ADeadlockNamesEveryBlockedWorkerAndItsTask) {
  plan::Plan plan = empty_plan_of(2, {.nodes = 1, .workers_per_node = 3});
  plan.programs[0].tasks = {forward(0), receive(2, 1), send(1, 1)};
  plan.programs[1].tasks = {receive(1, 0), send(2, 0)};
  plan.programs[2].tasks = {forward(1)};
  EXPECT_THAT(
      failure(plan),
      AllOf(HasSubstr("the plan cannot come to its end: worker 0 waits in receive of tensor "
                      "2 from worker 1, minibatch 0, step 0; worker 1 waits in receive of "
                      "tensor 1 from worker 0, minibatch 0, step 0"),
            testing::Not(HasSubstr("worker 2"))));
}

TEST(Simulate, AReductionThatAMemberNeverStartsIsADeadlock) {
  plan::Plan plan = empty_plan_of(2, {.nodes = 1, .workers_per_node = 2});
  plan.groups = {{0, 1}};
  plan.buckets = {{.payload = plan::Payload::gradient, .blocks = {0}}};
  plan.programs[0].tasks = {reduce(plan::Move::start), reduce(plan::Move::sum),
                            reduce(plan::Move::finish)};
  EXPECT_THAT(failure(plan), HasSubstr("worker 0 waits in reduce_sum of bucket 0"));
}

TEST(Simulate, AManyWorkersDeadlockStaysOneReadableLine) {
  plan::Plan plan = empty_plan_of(2, {.nodes = 1, .workers_per_node = 100});
  for (plan::Program& program : plan.programs) program.tasks = {receive(1, 0)};
  const std::string message = failure(plan);
  EXPECT_THAT(message, AllOf(HasSubstr("worker 15 waits"), HasSubstr("; and 84 more")));
  EXPECT_LT(message.size(), 2000U);
}

TEST(Simulate, NothingToPlayTakesNoTime) {
  const plan::Plan plan = empty_plan_of(2, machine(1, 2));
  const Simulation result = simulate(plan, FixedCost(kOneTwo));
  EXPECT_EQ(result.seconds, 0);
  EXPECT_EQ(result.utilisation, 0);
  EXPECT_EQ(simulate(two_stages(), FixedCost(kOneTwo), {.minibatches = 0}).seconds, 0);
}

TEST(Simulate, WithoutEventsTheNumbersAreTheSame) {
  const Simulation with = simulate(two_stages(), FixedCost(kOneTwo));
  const Simulation without = simulate(two_stages(), FixedCost(kOneTwo), {.keep_events = false});
  EXPECT_EQ(with.seconds, without.seconds);
  EXPECT_EQ(with.step_seconds, without.step_seconds);
  EXPECT_EQ(with.bytes_per_step, without.bytes_per_step);
  EXPECT_TRUE(without.trace.workers[0].events().empty());
  EXPECT_EQ(without.trace.workers[0].totals().events, with.trace.workers[0].totals().events);
}

}  // namespace
}  // namespace plait::simulate
