// Messages: tensors, halves, rows and weights from one worker to another.
#include "run/messages.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "run/worker_testing.hpp"

namespace plait::run {
namespace {

constexpr plan::MinibatchRange kRange{0, 100};

/// Worker 0 sends to worker 1; both on this thread, as no send waits for its receive.
class MessagesTest : public testing::Test {
 protected:
  MessagesTest() {
    plan_ = small_plan(2);
    plan::hand_made::Writer(plan_.programs[0]).forward(0, 1);
    plan::hand_made::Writer(plan_.programs[1]).forward(1, 1);
  }
  void add(const plan::Message& message) {
    plan::Message to = message;
    to.peer = 1;
    plan::hand_made::Writer(plan_.programs[0]).add(plan::Send{to});
    to.peer = 0;
    plan::hand_made::Writer(plan_.programs[1]).add(plan::Receive{.message = to});
  }
  void build() {
    sender_ = std::make_unique<WorkerBench>(world_, plan_, WorkerOptions{.rank = 0});
    receiver_ = std::make_unique<WorkerBench>(world_, plan_, WorkerOptions{.rank = 1, .seed = 2});
    sends_ = std::make_unique<Messages>(sender_->parts(), sender_->log);
    receives_ = std::make_unique<Messages>(receiver_->parts(), receiver_->log);
  }
  static std::span<float> tensor(WorkerBench& bench, int index, std::int64_t minibatch = 0) {
    const int slot = bench.parts().slot({plan::Role::tensor, index});
    const Chain& chain = bench.model.chains.at(bench.context.plan.batch);
    return {bench.memory.floats(slot, minibatch),
            static_cast<std::size_t>(chain.tensor_desc(index).physical_elements())};
  }
  void step(std::int64_t step) {
    receives_->post_receives(step, kRange);
    sends_->send(sender_->run_of(plan::TaskKind::send, step));
    receives_->receive(receiver_->run_of(plan::TaskKind::receive, step));
  }

  plan::Plan plan_;
  transport::ThreadWorld world_{{.nodes = 1, .members_per_node = 2}};
  std::unique_ptr<WorkerBench> sender_, receiver_;
  std::unique_ptr<Messages> sends_, receives_;
};

TEST_F(MessagesTest, ATensorArrivesInTheReceiversSlot) {
  add({.value = {plan::Role::tensor, 1}});
  build();
  const std::span<float> sent = tensor(*sender_, 1);
  std::iota(sent.begin(), sent.end(), 1.0F);
  step(0);
  const std::span<float> received = tensor(*receiver_, 1);
  EXPECT_TRUE(std::ranges::equal(sent, received));
  EXPECT_EQ(sender_->trace.totals().bytes, static_cast<std::int64_t>(sent.size_bytes()));
  // What is sent again needs memory of its own only where the first message is not taken.
  sender_->memory.free_for_writing(sender_->parts().slot({plan::Role::tensor, 1}), 1);
  EXPECT_EQ(tensor(*sender_, 1).data(), sent.data());
}

TEST_F(MessagesTest, HalvesAreRoundedToBf16) {
  add({.value = {plan::Role::tensor, 1}, .half = true});
  build();
  const std::span<float> sent = tensor(*sender_, 1);
  std::ranges::fill(sent, 1.00001F);
  sent[3] = -2.5F;
  step(0);
  EXPECT_EQ(tensor(*receiver_, 1)[0], 1.0F);
  EXPECT_EQ(tensor(*receiver_, 1)[3], -2.5F);
  EXPECT_EQ(sender_->trace.totals().bytes, static_cast<std::int64_t>(sent.size_bytes() / 2));
}

TEST_F(MessagesTest, NothingIsSentWithoutSamples) {
  add({.value = {plan::Role::tensor, 1, {0, 1, 8}}});  // an eighth of four samples
  build();
  step(0);
  EXPECT_EQ(sender_->group->traffic().messages, 0);
}

TEST_F(MessagesTest, WeightsArriveAsTheNextVersion) {
  add({.value = {plan::Role::weights, 1}});
  build();
  const auto weights = [](WorkerBench& bench) {
    return bench.model.parameters.block(1).weights.floats();
  };
  ASSERT_FALSE(std::ranges::equal(weights(*sender_), weights(*receiver_)));  // other seeds
  for (WorkerBench* bench : {sender_.get(), receiver_.get()}) bench->model.history.begin(0);
  step(0);
  EXPECT_TRUE(std::ranges::equal(weights(*sender_), weights(*receiver_)));
  sends_->finish_sending_weights(1);  // returns: they were taken
}

TEST_F(MessagesTest, WhereStepsOverlapWeightsMayChangeBeforeTheyAreTaken) {
  add({.value = {plan::Role::weights, 1}});
  plan::hand_made::Writer late(plan_.programs[0]);
  late.with.offset = 1;
  late.update(1);
  build();
  for (WorkerBench* bench : {sender_.get(), receiver_.get()}) bench->model.history.begin(0);
  float& weight = sender_->model.parameters.block(1).weights.floats()[0];
  for (const float value : {5.0F, 6.0F}) {
    weight = value;
    sends_->send(sender_->run_of(plan::TaskKind::send));
    sends_->finish_sending_weights(1);  // waits for nothing
  }
  weight = 7;
  for (const float value : {5.0F, 6.0F}) {
    receives_->receive(receiver_->run_of(plan::TaskKind::receive));
    EXPECT_EQ(receiver_->model.parameters.block(1).weights.floats()[0], value);
  }
}

}  // namespace
}  // namespace plait::run
