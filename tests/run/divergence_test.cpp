// Divergence: what to try depends on the plan, and the last checkpoint is named where there is one.
#include "session/divergence.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "plan/hand_made.hpp"

namespace plait::run {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(Divergence, SuggestsClippingOnlyWhereItIsPossible) {
  const plan::Plan plan = plan::hand_made::serial();
  const session::TrainConfig config;
  const std::string none;
  const session::Divergence alone{plan, config, none};
  EXPECT_EQ(alone.hint(), "no checkpoint was written yet; try a smaller `lr` or `clip_norm` 1");
  const session::Divergence pipeline{plan, config, none, false};
  EXPECT_THAT(pipeline.hint(), Not(HasSubstr("clip_norm")));
}

TEST(Divergence, AnOuterOptimizerComesFirst) {
  plan::Plan plan = plan::hand_made::serial();
  plan.buckets = {{.payload = plan::Payload::weights,
                   .merge = {.kind = plan::MergeKind::outer, .rate = 0.7, .momentum = 0.9}}};
  const session::TrainConfig config;
  const std::string none;
  EXPECT_THAT((session::Divergence{plan, config, none}.hint()),
              HasSubstr("try `outer_momentum` 0.3, or"));
  plan.buckets[0].merge = {.kind = plan::MergeKind::outer, .rate = 1, .momentum = 0};  // an average
  EXPECT_THAT((session::Divergence{plan, config, none}.hint()), Not(HasSubstr("outer_")));
}

TEST(Divergence, NamesStepWorkerAndBlock) {
  const plan::Plan plan = plan::hand_made::synchronous_pipeline();
  const session::TrainConfig config;
  const std::string none;
  try {
    session::Divergence{plan, config, none}.stop(NonFiniteLoss(4, -NAN, "fc"), 1);
    FAIL() << "no error";
  } catch (const UserError& error) {
    EXPECT_THAT(error.what(), HasSubstr("loss is nan at step 5 on worker 1; block 'fc' is"));
  }
}

}  // namespace
}  // namespace plait::run
