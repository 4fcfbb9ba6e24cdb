// JobEvaluation: replicas divide the test data; what they sum is what one worker alone finds.
#include "session/job_evaluation.hpp"

#include <gtest/gtest.h>

#include "run/training.hpp"
#include "transport/threads.hpp"

namespace plait::run {
namespace {

class JobEvaluationTest : public TrainTest {
 protected:
  /// The loss on worker 0, after which all workers agree.
  Evaluation evaluate(int workers, bool replicated) {
    session::TrainConfig config = parallel(workers);
    config.test_limit = 101;  // uneven parts
    session::TrainObserver silent;
    const session::TrainJob job = job_of(config, silent);
    const plait::session::Setup setup = make_setup(config);
    const plan::Plan plan = plan_for(config, setup.model, {.workers_per_node = workers});
    transport::ThreadWorld world(
        {.nodes = 1, .members_per_node = workers, .board_bytes = kStatusBytes});
    std::vector<Evaluation> results(static_cast<std::size_t>(workers));
    transport::run_members(world, [&](int rank) {
      const std::unique_ptr<transport::Group> group = world.group(rank);
      const std::unique_ptr<transport::Group> control = world.control_group(rank);
      trace::WorkerTrace trace;
      const session::MemberParts parts{.job = job,
                                       .setup = setup,
                                       .plan = plan,
                                       .group = *group,
                                       .control = *control,
                                       .status = status_of(world.board(), rank),
                                       .trace = trace,
                                       .checkpoints = ""};
      Worker worker(plan, {.rank = rank},
                    {.group = *group,
                     .trace = trace,
                     .status = parts.status,
                     .next_batch = [](data::Batch&) {},
                     .minibatch = [](std::int64_t) { return Minibatch{}; }});
      session::JobEvaluation evaluation(parts, worker, replicated);
      EXPECT_FALSE(evaluation.current());
      results[static_cast<std::size_t>(rank)] = evaluation.run();
      ASSERT_TRUE(evaluation.current());
      evaluation.weights_changed();
      EXPECT_FALSE(evaluation.current());
    });
    for (const Evaluation& one : results) {
      EXPECT_EQ(one.loss, results[0].loss);
      EXPECT_EQ(one.samples, 101);
    }
    return results[0];
  }
};

TEST_F(JobEvaluationTest, EverySampleCountsOnce) {
  const Evaluation alone = evaluate(1, true);
  for (const bool replicated : {true, false}) {
    const Evaluation three = evaluate(3, replicated);
    EXPECT_NEAR(three.loss, alone.loss, 1e-6);
    EXPECT_EQ(three.accuracy, alone.accuracy);
  }
}

}  // namespace
}  // namespace plait::run
