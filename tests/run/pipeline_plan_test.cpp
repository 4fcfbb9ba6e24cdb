// The runtime plays any sound plan: pipelines written by hand, which no strategy of this program
// makes, cut a network at every border.
#include "plan/check.hpp"
#include "plan/hand_made.hpp"
#include "run/training.hpp"

namespace plait::run {
namespace {

using plan::hand_made::Writer;

/// Blocks before `cut` on worker 0, the others on worker 1; all forwards, then all backwards.
plan::Plan synchronous(const session::TrainConfig& config, const graph::ModelSpec& model,
                       const plan::Machine& machine, int cut) {
  plan::Plan plan{.strategy = "by hand", .machine = machine, .network = plan::make_network(model)};
  plan.batch = config.batch;
  plan.microbatches = static_cast<int>(config.microbatches);
  plan.optimizer_states = 1;
  plan.programs.resize(2);
  const int last = plan.network.size() - 1;
  const int parts = plan.microbatches;
  Writer first(plan.programs[0]);
  Writer second(plan.programs[1]);
  for (int part = 0; part < parts; ++part) {
    first.with = second.with = {.samples = plan::part_of(part, parts), .accumulate = part > 0};
    first.task(plan::TaskKind::load)
        .forward(0, cut - 1)
        .message(plan::TaskKind::send, cut, false, 1);
    second.task(plan::TaskKind::load)
        .message(plan::TaskKind::receive, cut, false, 0)
        .forward(cut, last);
    second.task(plan::TaskKind::loss).backward(plan.network, last, cut);
    second.message(plan::TaskKind::send, cut, true, 0);
  }
  for (int part = 0; part < parts; ++part) {
    first.with = {.samples = plan::part_of(part, parts), .accumulate = part > 0};
    first.message(plan::TaskKind::receive, cut, true, 1).backward(plan.network, cut - 1, 0);
  }
  first.with = second.with = {};
  first.update(plan.network, 0, cut - 1);
  second.update(plan.network, cut, last);
  plan::check_plan(plan);
  return plan;
}

/// A new minibatch every step; worker 1 is one step late, the way back of worker 0 two.
plan::Plan asynchronous(const session::TrainConfig& config, const graph::ModelSpec& model,
                        const plan::Machine& machine, int cut) {
  plan::Plan plan{.strategy = "by hand", .machine = machine, .network = plan::make_network(model)};
  plan.batch = config.batch;
  plan.optimizer_states = 1;
  plan.programs.resize(2);
  const int last = plan.network.size() - 1;
  Writer first(plan.programs[0]);
  first.with.delay = 2;
  first.task(plan::TaskKind::load).forward(0, cut - 1).message(plan::TaskKind::send, cut, false, 1);
  first.with.offset = 2;
  first.message(plan::TaskKind::receive, cut, true, 1).backward(plan.network, cut - 1, 0);
  first.update(plan.network, 0, cut - 1);
  Writer second(plan.programs[1]);
  second.with.offset = 1;
  second.task(plan::TaskKind::load)
      .message(plan::TaskKind::receive, cut, false, 0)
      .forward(cut, last);
  second.task(plan::TaskKind::loss).backward(plan.network, last, cut);
  second.message(plan::TaskKind::send, cut, true, 0).update(plan.network, cut, last);
  plan::check_plan(plan);
  return plan;
}

using Maker = plan::Plan (*)(const session::TrainConfig&, const graph::ModelSpec&,
                             const plan::Machine&, int);

session::TrainResult run_cut(const session::TrainConfig& config, Maker make, int cut) {
  session::TrainObserver silent;
  return session::train(job_with_plan(
      config, silent, [&](const graph::ModelSpec& model, const plan::Machine& machine) {
        return make(config, model, machine, cut);
      }));
}

class PipelinePlan : public TrainTest {
 protected:
  session::TrainConfig lenet() const {
    session::TrainConfig config = parallel(1);
    config.strategy = "serial";
    config.model = "lenet";
    config.train_limit = 200;  // six of 32 and one of 8
    config.epochs = 2;
    return config;
  }
};

TEST_F(PipelinePlan, SynchronousHasTheBitsOfOneWorker) {
  for (const int parts : {1, 2, 4}) {
    session::TrainConfig config = lenet();
    config.microbatches = parts;
    const session::TrainResult serial = run(config);
    config.workers = 2;
    for (const int cut : {1, 3, 5}) {
      const session::TrainResult cut_run = run_cut(config, synchronous, cut);
      EXPECT_EQ(cut_run.weights_hash, serial.weights_hash) << parts << " parts, cut " << cut;
      EXPECT_EQ(cut_run.train_loss, serial.train_loss);
      EXPECT_EQ(cut_run.test_accuracy, serial.test_accuracy);
      EXPECT_GT(cut_run.bytes_sent, 0);
    }
  }
}

/// Worker 1 sends what its first block made once more, to worker 0 that has no use for it.
plan::Plan with_a_rare_message(const session::TrainConfig& config, const graph::ModelSpec& model,
                               const plan::Machine& machine, int cut, const plan::When& when) {
  plan::Plan plan = synchronous(config, model, machine, cut);
  plan.modes = {"usual", "never chosen"};
  const plan::Message message{.value = {.role = plan::Role::tensor, .index = cut + 1}};
  plan.programs[0].tasks.push_back({when, plan::Receive{message}});
  plan.programs[1].tasks.push_back({when, plan::Send{message}});
  message_of(plan.programs[0].tasks.back())->peer = 1;
  message_of(plan.programs[1].tasks.back())->peer = 0;
  plan::check_plan(plan);
  return plan;
}

/// A receive is posted early, but only in the steps in which it comes.
TEST_F(PipelinePlan, ReceivesArePostedWhenTheyRun) {
  session::TrainConfig config = lenet();
  config.checkpoint_every = 0;  // a range is an epoch
  const session::TrainResult serial = run(config);
  config.workers = 2;
  const std::int64_t messages = run_cut(config, synchronous, 3).messages_sent;
  const auto rare = [&](Maker make) {
    const session::TrainResult result = run_cut(config, make, 3);
    EXPECT_EQ(result.weights_hash, serial.weights_hash);
    return result.messages_sent - messages;
  };
  EXPECT_EQ(rare([](const session::TrainConfig& c, const graph::ModelSpec& model,
                    const plan::Machine& machine, int cut) {
              return with_a_rare_message(c, model, machine, cut, {.at_end = true});
            }),
            2);  // epochs
  EXPECT_EQ(rare([](const session::TrainConfig& c, const graph::ModelSpec& model,
                    const plan::Machine& machine,
                    int cut) { return with_a_rare_message(c, model, machine, cut, {.mode = 1}); }),
            0);
  EXPECT_EQ(rare([](const session::TrainConfig& c, const graph::ModelSpec& model,
                    const plan::Machine& machine, int cut) {
              return with_a_rare_message(c, model, machine, cut, {.every = 4, .phase = 1});
            }),
            4);  // of 14 steps: 1, 5, 9, 13
}

TEST_F(PipelinePlan, SynchronousResumes) {
  session::TrainConfig config = lenet();
  const std::string whole = run(config).weights_hash;
  config.workers = 2;
  config.run_dir = (folder_ / "pipeline").string();
  config.steps = 9;
  run_cut(config, synchronous, 2);
  config.steps = 0;
  config.resume = true;
  EXPECT_EQ(run_cut(config, synchronous, 4).weights_hash, whole);  // with another cut
}

TEST_F(PipelinePlan, AsynchronousIsReproducibleAndLearns) {
  session::TrainConfig config = lenet();
  config.workers = 2;
  config.epochs = 6;
  config.checkpoint_every = 0;
  const session::TrainResult first = run_cut(config, asynchronous, 3);
  EXPECT_EQ(first.steps, 42);
  EXPECT_EQ(first.staleness_max, 2);
  EXPECT_EQ(run_cut(config, asynchronous, 3).weights_hash, first.weights_hash);
  EXPECT_NE(run(lenet()).weights_hash, first.weights_hash);
  EXPECT_LT(first.train_loss, 2.0);  // ln 10 = 2.30 is guessing

  config.run_dir = (folder_ / "late").string();
  config.epochs = 3;  // the pipeline is empty between epochs, so checkpoints there change nothing
  run_cut(config, asynchronous, 3);
  config.epochs = 6;
  config.resume = true;
  EXPECT_EQ(run_cut(config, asynchronous, 3).weights_hash, first.weights_hash);
}

}  // namespace
}  // namespace plait::run
