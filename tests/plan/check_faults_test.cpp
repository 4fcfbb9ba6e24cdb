// Every fault the check knows, provoked by damaging a good plan.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "base/error.hpp"
#include "plan/check.hpp"
#include "plan/hand_made.hpp"

namespace plait::plan {
namespace {

using hand_made::erase;
using hand_made::erase_messages;
using hand_made::message;
using hand_made::move_to;
using hand_made::position;
using hand_made::task;
using hand_made::tasks_of;
using ::testing::Contains;
using ::testing::HasSubstr;

/// A good plan, how it is spoilt, and what the fault must say.
struct Damage {
  std::string name;
  std::function<Plan()> good;
  std::function<void(Plan&)> spoil;
  std::vector<std::string> says;
};

void PrintTo(const Damage& damage, std::ostream* out) { *out << damage.name; }

class CheckFinds : public ::testing::TestWithParam<Damage> {};

TEST_P(CheckFinds, TheFault) {
  Plan plan = GetParam().good();
  GetParam().spoil(plan);
  const std::vector<std::string> found = faults(plan);
  ASSERT_FALSE(found.empty());
  for (const std::string& text : GetParam().says) EXPECT_THAT(found, Contains(HasSubstr(text)));
  EXPECT_THROW(check_plan(plan), Failure);
}

const auto serial = [] { return hand_made::serial(); };
const auto serial2 = [] { return hand_made::serial(2); };
const auto data = [] { return hand_made::data_parallel(); };
const auto sync_pipe = [] { return hand_made::synchronous_pipeline(); };
const auto async_pipe = [] { return hand_made::asynchronous_pipeline(); };
const auto lent = [] { return hand_made::lent_backward(); };

/// Whether forwards and backward_weights of worker 0 accumulate: asked with how it is.
void accumulate(Plan& plan, const std::function<bool(const Task&, bool)>& wanted) {
  for (Task& t : tasks_of(plan, 0)) {
    if (auto* forward = std::get_if<Forward>(&t.what)) {
      forward->moves_state = !wanted(t, !forward->moves_state);
    } else if (auto* backward = std::get_if<BackwardWeights>(&t.what)) {
      backward->adds = wanted(t, backward->adds);
    }
  }
}

const Damage kIndices[] = {
    {"NoBlocks", serial, [](Plan& p) { p.network.blocks.clear(); }, {"no blocks"}},
    {"ABlockWithoutItsTensor",
     serial,
     [](Plan& p) { p.network.blocks[2].dst = 9; },
     {"block bn goes from tensor 2 to 9, but there are 5 tensors"}},
    {"NoBatch", serial, [](Plan& p) { p.batch = 0; }, {"the batch is 0 samples"}},
    {"NoMicrobatches", serial, [](Plan& p) { p.microbatches = 0; }, {"0 microbatches"}},
    {"OddWire", serial, [](Plan& p) { p.wire_bytes = 3; }, {"has 3 bytes"}},
    {"TooManyPrograms",
     serial,
     [](Plan& p) { p.programs.emplace_back(); },
     {"2 programs for 1 workers"}},
    {"NoPrograms", serial, [](Plan& p) { p.programs.clear(); }, {"0 programs"}},
    {"AGroupWithAStranger",
     data,
     [](Plan& p) {
       p.groups[0] = {0, 2};
     },
     {"group 0 must"}},
    {"AGroupOutOfOrder",
     data,
     [](Plan& p) {
       p.groups[0] = {1, 0};
     },
     {"group 0 must"}},
    {"AnEmptyGroup", data, [](Plan& p) { p.groups.emplace_back(); }, {"group 1 must"}},
    {"ABucketWithAStranger", data, [](Plan& p) { p.buckets[1].blocks = {4}; }, {"bucket 1 names"}},
    {"ABucketWithABlockTwice",
     data,
     [](Plan& p) {
       p.buckets[1].blocks = {0, 0};
     },
     {"bucket 1 names a block twice"}},
    {"NoSuchBlock",
     serial,
     [](Plan& p) { std::get<Forward>(task(p, 0, TaskKind::forward, 2).what).block = 7; },
     {"worker 0, task 3 (forward of block 7): there is no block 7, only 4"}},
    {"ATaskWithoutBlock",
     serial,
     [](Plan& p) { std::get<Update>(task(p, 0, TaskKind::update).what).block = -1; },
     {"there is no block -1"}},
    {"NoSuchTensor",
     sync_pipe,
     [](Plan& p) { message_of(task(p, 0, TaskKind::send))->value.index = 5; },
     {"worker 0, task 3 (send of tensor 5 to worker 1, part 1 of 2): there is no tensor 5"}},
    {"NoSuchBlockOfAMessage",
     lent,
     [](Plan& p) { message(p, 0, TaskKind::send, Role::saved).value.index = 4; },
     {"(send of what forward leaves of block 4 to worker 1): there is no block 4, only 4"}},
    {"TargetsThatTravel",
     sync_pipe,
     [](Plan& p) { message_of(task(p, 0, TaskKind::send))->value.role = Role::targets; },
     {"targets never travels from worker to worker"}},
    {"AGradientThatTravels",
     lent,
     [](Plan& p) { message(p, 1, TaskKind::receive, Role::weights).value.role = Role::gradient; },
     {"worker 1, task 6 (receive of the gradient of bn from worker 0): only gradients of blocks "
      "that use "
      "another one's weights travel"}},
    {"APartialGradientThatTravels",
     lent,
     [](Plan& p) { message(p, 0, TaskKind::send, Role::weights).value.role = Role::partial; },
     {"partial never travels"}},
    {"StateThatTravels",
     lent,
     [](Plan& p) { message(p, 0, TaskKind::send, Role::weights).value.role = Role::state; },
     {"state never travels"}},
    {"NoSuchPeer",
     sync_pipe,
     [](Plan& p) { message_of(task(p, 0, TaskKind::send))->peer = 2; },
     {"the peer must be another one of the 2 workers"}},
    {"AMessageToMyself",
     sync_pipe,
     [](Plan& p) { message_of(task(p, 0, TaskKind::send))->peer = 0; },
     {"the peer must be another one"}},
    {"NoSuchBucket",
     data,
     [](Plan& p) { std::get<Reduce>(task(p, 1, TaskKind::reduce_sum).what).bucket = 3; },
     {"there is no bucket 3, only 3"}},
    {"NoSuchGroup",
     data,
     [](Plan& p) { std::get<Reduce>(task(p, 1, TaskKind::reduce_sum).what).group = 1; },
     {"there is no group 1, only 1"}},
    {"NoMember", data, [](Plan& p) { p.groups[0] = {0}; }, {"no member of group 0"}},
    {"NoPartOfAMinibatch",
     serial,
     [](Plan& p) {
       std::get<Loss>(task(p, 0, TaskKind::loss).what).samples = {1, 1, 1};
     },
     {"1/1 to 1/1 is no part of a minibatch"}},
    {"AnEmptyPart",
     serial,
     [](Plan& p) {
       std::get<Loss>(task(p, 0, TaskKind::loss).what).samples = {0, 1, 9};
     },
     {"it gets no sample of a batch of 8"}},
    {"ANegativeOffset",
     serial,
     [](Plan& p) { task(p, 0, TaskKind::loss).when.offset = -1; },
     {"the offset is -1"}},
    {"ANegativeDelay",
     serial,
     [](Plan& p) { std::get<Forward>(task(p, 0, TaskKind::forward).what).delay = -1; },
     {"(forward of conv1): the delay is -1"}},
    {"APhaseThatNeverComes",
     serial,
     [](Plan& p) { task(p, 0, TaskKind::loss).when.phase = 1; },
     {"phase 1 of every 1 steps never comes"}},
    {"EveryZero",
     serial,
     [](Plan& p) { task(p, 0, TaskKind::loss).when.every = 0; },
     {"phase 0 of every 0 steps never comes"}},
};

const Damage kValues[] = {
    {"AMissingProducer",
     serial,
     [](Plan& p) { erase(p, 0, TaskKind::forward, 1); },
     {"worker 0, task 2 (forward of bn): reads tensor 2, which no task of this worker writes",
      "(backward_data of pool): reads what another task of pool leaves"}},
    {"NoTargets",
     sync_pipe,
     [](Plan& p) { erase(p, 1, TaskKind::load); },
     {"(loss, part 1 of 2): reads the targets, which no task of this worker writes"}},
    {"AProducerThatComesLater",
     serial,
     [](Plan& p) { move_to(p, 0, 3, 2); },
     {"worker 0, task 2 (forward of bn): reads tensor 2, which forward of pool (task 3) writes "
      "only later"}},
    {"AProducerInALaterStep",
     serial,
     [](Plan& p) { task(p, 0, TaskKind::forward, 1).when.offset = 1; },
     {"(forward of bn): reads tensor 2, which forward of pool (task 2) writes only later"}},
    {"WeightsBeforeData",
     serial,
     [](Plan& p) { move_to(p, 0, 9, 8); },
     {"(backward_weights of bn): reads what another task of bn leaves"}},
    {"OtherSamples",
     serial2,
     [](Plan& p) {
       std::get<Forward>(task(p, 0, TaskKind::forward, 2).what).samples = {0, 2, 2};
     },
     {"(forward of bn, samples 0/2 to 2/2): reads tensor 2"}},
    {"AValueWrittenTwice",
     serial,
     [](Plan& p) { tasks_of(p, 0).insert(tasks_of(p, 0).begin() + 3, tasks_of(p, 0)[2]); },
     {"worker 0, task 3 (forward of pool): writes tensor 2, which forward of pool (task 2) has "
      "written for the same minibatch"}},
    {"AProducerThatRests",
     serial,
     [](Plan& p) {
       task(p, 0, TaskKind::forward, 1).when.every = 4;
       task(p, 0, TaskKind::forward, 1).when.phase = 2;
     },
     {"(forward of bn): reads tensor 2 in steps in which forward of pool (task 2) rests"}},
    {"BatchNormsGradientLost",  // it is made by backward_data and comes with what that leaves
     lent,
     [](Plan& p) { erase_messages(p, Role::pending); },
     {"worker 0, task 15 (backward_weights of bn): reads what another task of bn leaves, which no "
      "task of this worker writes"}},
    {"WhatForwardLeavesNotSent",
     lent,
     [](Plan& p) { erase_messages(p, Role::saved); },
     {"worker 1, task 2 (backward_data of bn): reads what another task of bn leaves"}},
    {"AGradientUsedTooLate",
     async_pipe,
     [](Plan& p) { task(p, 0, TaskKind::update).when.offset = 3; },
     {"(update of conv1): uses the gradient of conv1 when backward_weights of conv1 (task 7) has "
      "overwritten it for the next minibatch"}},
};

const Damage kUpdates[] = {
    {"AMissingUpdate",
     serial,
     [](Plan& p) { erase(p, 0, TaskKind::update, 2); },
     {"(backward_weights of bn): makes a gradient of bn, which this worker never updates",
      "no worker updates block bn"}},
    {"ABlockNobodyCaresFor",
     serial,
     [](Plan& p) {
       erase(p, 0, TaskKind::update, 2);
       erase(p, 0, TaskKind::backward_weights, 2);
     },
     {"no worker updates block bn"}},
    {"AReaderThatReturnsNoGradient",
     serial,
     [](Plan& p) { erase(p, 0, TaskKind::backward_data, 2); },
     {"no worker makes what block bn adds to the gradient of tensor 2 for"}},
    {"AReaderThatReturnsHalfOfIt",
     data,
     [](Plan& p) { erase(p, 1, TaskKind::backward_data, 2); },
     {"no worker makes what block bn adds to the gradient of tensor 2 for"}},
    {"TwoUpdates",
     serial,
     [](Plan& p) { tasks_of(p, 0).push_back(task(p, 0, TaskKind::update, 2)); },
     {"(update of bn): the block is updated twice in a step"}},
    {"AnUpdateWithoutGradient",
     sync_pipe,
     [](Plan& p) { tasks_of(p, 0).push_back({.what = Update{.block = 3}}); },
     {"worker 0, task 17 (update of fc): reads the gradient of fc, which no task of this worker "
      "writes"}},
    {"AnUpdateTooEarly",
     serial2,
     [](Plan& p) { move_to(p, 0, position(p, 0, TaskKind::update, 2), 10); },
     {"(update of bn): comes before backward_weights of bn (task 23) has completed the gradient"}},
    {"AnUpdateBeforeTheReduction",
     data,
     [](Plan& p) {
       move_to(p, 1, position(p, 1, TaskKind::update, 3),
               position(p, 1, TaskKind::reduce_start) + 1);
     },
     {"worker 1, task 11 (update of fc): comes before reduce_finish of bucket 0 (task"}},
    {"AReductionBeforeTheGradient",
     data,
     [](Plan& p) { move_to(p, 0, position(p, 0, TaskKind::reduce_start), 9); },
     {"worker 0, task 9 (reduce_start of bucket 0): sums the gradient of bn before "
      "backward_weights of bn (task 10) has completed it"}},
    {"AClipTooEarly",
     data,
     [](Plan& p) { move_to(p, 0, position(p, 0, TaskKind::clip), 11); },
     {"(clip): comes before reduce_finish of bucket 0"}},
    {"AClipTooLate",
     data,
     [](Plan& p) {
       erase(p, 0, TaskKind::clip);
       tasks_of(p, 0).push_back({.what = Clip{}});
     },
     {"(clip): comes after update of fc"}},
    {"AMicrobatchThatOverwrites",
     serial2,
     [](Plan& p) { accumulate(p, [](const Task&, bool) { return false; }); },
     {"a microbatch overwrites the gradient of fc"}},
    {"WeightsThatOverwrite",
     serial2,
     [](Plan& p) {
       accumulate(p, [](const Task& t, bool now) { return now && !is<BackwardWeights>(t); });
     },
     {"a microbatch overwrites the gradient of fc"}},
    {"AMicrobatchThatAddsToNothing",
     serial2,
     [](Plan& p) { accumulate(p, [](const Task&, bool) { return true; }); },
     {"(backward_weights of fc, part 1 of 2): adds to a gradient of fc that nothing has begun",
      "(backward_weights of fc, part 1 of 2): reads the gradient of fc, which nothing has written "
      "before"}},
    {"StatisticsThatMoveTwice",
     serial2,
     [](Plan& p) { accumulate(p, [](const Task& t, bool now) { return now && !is<Forward>(t); }); },
     {"(forward of bn, part 2 of 2): moves the running statistics a second time"}},
    {"SamplesWithoutLoss",
     data,
     [](Plan& p) {
       for (Task& t : tasks_of(p, 1)) set_samples(t, part_of(0, 2));
     },
     {"no worker takes the loss of sample 4 of 8"}},
};

const Damage kVersions[] = {
    {"AReaderThatWantsWeightsTooNew",
     async_pipe,
     [](Plan& p) { std::get<Forward>(task(p, 0, TaskKind::forward).what).delay = 1; },
     {"worker 0, task 1 (forward of conv1): asks for weights 1 updates old, but when it runs "
      "update of conv1 (task 8) is 2 updates behind"}},
    {"AnUpdateThatComesLater",
     async_pipe,
     [](Plan& p) {
       for (Task& t : tasks_of(p, 1)) t.when.offset += is<Update>(t) ? 1 : 0;
     },
     {"worker 1, task 2 (forward of bn): asks for weights 0 updates old, but when it runs update "
      "of bn (task 10) is 1 updates behind",
      "(backward_data of bn): asks for weights 0 updates old"}},
    {"WeightsThatComeTooLate",
     lent,
     [](Plan& p) {
       for (const int worker : {0, 1}) {
         const TaskKind kind = worker == 0 ? TaskKind::send : TaskKind::receive;
         hand_made::message_task(p, worker, kind, Role::weights).when.offset = 1;
       }
     },
     {"worker 1, task 3 (backward_data of bn): asks for weights 0 updates old, but when it runs "
      "receive of the weights of bn from worker 0 (task 6) is 1 updates behind"}},
    {"WeightsThatNobodySends",
     lent,
     [](Plan& p) { erase_messages(p, Role::weights); },
     {"worker 1, task 3 (backward_data of bn): reads weights that worker 0 updates and nobody "
      "sends here"}},
    {"TwoThatMakeTheWeights",
     lent,
     [](Plan& p) {
       tasks_of(p, 1).push_back(
           {.what = Send{{.value = {.role = Role::weights, .index = 2}, .peer = 0}}});
       tasks_of(p, 0).push_back(
           {.what = Receive{{.value = {.role = Role::weights, .index = 2}, .peer = 1}}});
     },
     {"(receive of the weights of bn from worker 1): task 18 makes the weights in the same step"}},
};

const Damage kMessages[] = {
    {"NoReceive",
     sync_pipe,
     [](Plan& p) { erase(p, 1, TaskKind::receive); },
     {"worker 0, task 3 (send of tensor 2 to worker 1, part 1 of 2): worker 1 never receives it"}},
    {"NoSend",
     sync_pipe,
     [](Plan& p) { erase(p, 1, TaskKind::send); },
     {"(receive of the gradient of tensor 2 from worker 1, part 1 of 2): worker 1 never sends it"}},
    {"AnotherTensor",
     sync_pipe,
     [](Plan& p) { message_of(task(p, 0, TaskKind::send))->value.index = 1; },
     {"worker 1 never receives it", "worker 0 never sends it"}},
    {"AnotherRole",
     lent,
     [](Plan& p) { message(p, 0, TaskKind::send, Role::saved).value.role = Role::pending; },
     {"worker 0, task 9 (send of what backward_data leaves of bn to worker 1): worker 1 never "
      "receives it",
      "(receive of what forward leaves of bn from worker 0): worker 0 never sends it"}},
    {"TheSameMessageTwice",
     sync_pipe,
     [](Plan& p) { tasks_of(p, 0).push_back(task(p, 0, TaskKind::send)); },
     {"(send of tensor 2 to worker 1, part 1 of 2): task 3 does the same in the same step"}},
    {"AMessageInOtherSteps",
     sync_pipe,
     [](Plan& p) { task(p, 0, TaskKind::send).when.every = 2; },
     {"(receive of tensor 2 from worker 0, part 1 of 2): runs for other minibatches than the send "
      "(task 3) of worker 0"}},
    {"AMemberThatDoesNotStart",
     data,
     [](Plan& p) { erase(p, 1, TaskKind::reduce_start); },
     {"worker 1 of group 0 never starts bucket 0"}},
    {"AMemberThatDoesNotSum",
     data,
     [](Plan& p) { erase(p, 0, TaskKind::reduce_sum); },
     {"worker 0 of group 0 never sums bucket 0"}},
    {"AMemberThatDoesNotFinish",
     data,
     [](Plan& p) { erase(p, 1, TaskKind::reduce_finish); },
     {"worker 1 of group 0 never finishes bucket 0"}},
    {"AMemberInOtherSteps",
     data,
     [](Plan& p) { task(p, 1, TaskKind::reduce_sum).when.every = 2; },
     {"(reduce_sum of bucket 0): runs for other minibatches than reduce_finish of bucket 0 of "
      "worker 0"}},
    {"AFinishBeforeItsSum",
     data,
     [](Plan& p) {
       move_to(p, 1, position(p, 1, TaskKind::reduce_finish), position(p, 1, TaskKind::reduce_sum));
     },
     {"worker 1, task 16 (reduce_finish of bucket 0): comes before reduce_sum of bucket 0"}},
};

const Damage kOrders[] = {
    {"TwoThatReceiveFirst",
     sync_pipe,
     [](Plan& p) {
       // worker 0 wants the gradients of the first microbatch before it sends the activations
       move_to(p, 0, position(p, 0, TaskKind::receive), 0);
     },
     {"the workers wait for each other for ever: worker 0 waits in receive of the gradient of "
      "tensor 2 from worker 1 (task 0, step 0, minibatch 0) for worker 1 to send it; worker 1 "
      "waits in receive of tensor 2 from worker 0 (task 1, step 0, minibatch 0) for worker 0 to "
      "send it"}},
    {"ALoopOfSteps",
     async_pipe,
     [](Plan& p) {
       // the gradient of the step before is wanted before the activation it is made of is sent
       for (Task& t : tasks_of(p, 0)) t.when.offset = t.when.offset == 2 ? 1 : 0;
       move_to(p, 0, position(p, 0, TaskKind::receive), position(p, 0, TaskKind::send));
       for (Task& t : tasks_of(p, 1)) t.when.offset = 0;
       std::vector<Task>& tasks = tasks_of(p, 1);
       tasks.insert(tasks.begin(),
                    {.when = {.offset = 0}, .what = Receive{{.value = {.index = 1}, .peer = 0}}});
       tasks_of(p, 0).push_back(
           {.when = {.offset = 1}, .what = Send{{.value = {.index = 1}, .peer = 1}}});
     },
     {"for ever: worker 0 waits in receive of the gradient of tensor 2 from worker 1 (task 3, step "
      "1, minibatch 0)"}},
    {"SumsInOppositeOrders",
     data,
     [](Plan& p) {
       // worker 0 sums bucket 0 before it starts bucket 1, worker 1 the other way round
       const auto find = [&](int worker, TaskKind kind, int bucket) {
         const std::vector<Task>& tasks = tasks_of(p, worker);
         return static_cast<int>(std::ranges::find_if(tasks,
                                                      [&](const Task& t) {
                                                        return kind_of(t) == kind &&
                                                               std::get<Reduce>(t.what).bucket ==
                                                                   bucket;
                                                      }) -
                                 tasks.begin());
       };
       move_to(p, 0, find(0, TaskKind::reduce_sum, 0), find(0, TaskKind::reduce_start, 1));
       move_to(p, 1, find(1, TaskKind::reduce_start, 0), find(1, TaskKind::reduce_sum, 1));
       move_to(p, 1, find(1, TaskKind::reduce_sum, 0), find(1, TaskKind::reduce_finish, 0) - 1);
     },
     {"worker 0 waits in reduce_sum of bucket 0 (task 14, step 0, minibatch 0) for worker 1 to "
      "start it; worker 1 waits in reduce_sum of bucket 1 (task 15, step 0, minibatch 0) for "
      "worker 0 to start it"}},
    {"AFinishThatHoldsUpASum",
     data,
     [](Plan& p) {
       // worker 0 wants bucket 0 finished before it sums bucket 1; worker 1 the other way round
       std::vector<Task>& first = tasks_of(p, 0);
       std::vector<Task>& second = tasks_of(p, 1);
       const auto sum = static_cast<std::size_t>(position(p, 0, TaskKind::reduce_sum));
       const auto finish = static_cast<std::size_t>(position(p, 0, TaskKind::reduce_finish));
       std::swap(first[sum + 1], first[finish]);        // sum 0, finish 0, sum 2, sum 1, ...
       std::swap(second[sum], second[sum + 1]);         // sum 1, sum 0, ...
       std::swap(second[sum + 1], second[finish + 1]);  // sum 1, finish 1, sum 2, finish 0, sum 0
       std::swap(second[finish], second[finish + 1]);
     },
     {"worker 0 waits in reduce_finish of bucket 0 (task 17, step 0, minibatch 0) for worker 1 to "
      "sum it; worker 1 waits in reduce_finish of bucket 1 (task 17, step 0, minibatch 0) for "
      "worker 0 to sum it"}},
};

std::string damage_name(const ::testing::TestParamInfo<Damage>& info) { return info.param.name; }

INSTANTIATE_TEST_SUITE_P(Indices, CheckFinds, ::testing::ValuesIn(kIndices), damage_name);
INSTANTIATE_TEST_SUITE_P(Values, CheckFinds, ::testing::ValuesIn(kValues), damage_name);
INSTANTIATE_TEST_SUITE_P(Updates, CheckFinds, ::testing::ValuesIn(kUpdates), damage_name);
INSTANTIATE_TEST_SUITE_P(Versions, CheckFinds, ::testing::ValuesIn(kVersions), damage_name);
INSTANTIATE_TEST_SUITE_P(Messages, CheckFinds, ::testing::ValuesIn(kMessages), damage_name);
INSTANTIATE_TEST_SUITE_P(Orders, CheckFinds, ::testing::ValuesIn(kOrders), damage_name);

}  // namespace
}  // namespace plait::plan
