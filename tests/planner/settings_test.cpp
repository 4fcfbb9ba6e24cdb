// The tables of settings are sound, their rows are enforced, and the planner's choices follow them.
#include "planner/settings.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "base/error.hpp"
#include "cost/analytic.hpp"
#include "graph/zoo.hpp"
#include "planner/choice.hpp"
#include "planner/planner.hpp"

namespace plait::planner {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string refusal(const PlanSettings& settings) {
  try {
    check_plan_settings(settings);
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

TEST(PlanSettingsTable, HasEveryKeyOnceAndNamesOnlyStrategiesThatExist) {
  std::set<std::string_view> keys;
  for (const Setting<PlanSettings>& row : plan_settings()) {
    EXPECT_TRUE(keys.insert(row.key).second) << row.key;
    EXPECT_FALSE(row.help.empty()) << row.key;
    EXPECT_FALSE(row.group.empty()) << row.key;
    for (const std::string& name : names_in(row.used_by)) {
      EXPECT_THAT(strategy::strategy_names(), Contains(name)) << row.key;
    }
  }
}

TEST(PlanSettingsTable, AllowsItsOwnDefaults) { EXPECT_EQ(refusal({}), ""); }

TEST(PlanSettingsTable, RefusesWhatARowDoesNotAllow) {
  PlanSettings settings;
  settings.exchange_every = 0;
  EXPECT_EQ(refusal(settings),
            "`exchange_every` 0 is out of range; it must be between 1 and 65536");
  settings = {};
  settings.pipeline = "asnyc";
  EXPECT_EQ(refusal(settings),
            "`pipeline` asnyc is not known (did you mean 'async'?); there are: sync, async");
  settings = {};
  settings.outer_momentum = -0.5;
  EXPECT_THAT(refusal(settings), HasSubstr("`outer_momentum` -0.5"));
  settings = {};
  settings.bucket_mb = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(refusal(settings), HasSubstr("`bucket_mb`"));
  settings = {};
  settings.strategy = "layerpip";
  EXPECT_THAT(refusal(settings), HasSubstr("did you mean 'layerpipe'"));
}

TEST(PlanSettingsTable, ANumberOrAWord) {
  PlanSettings settings;
  for (const char* good : {"auto", "0", "12"}) {
    settings.pieces = settings.max_staleness = good;
    EXPECT_EQ(refusal(settings), "");
  }
  for (const char* bad : {"two", "-1", "", "2x", "1e9", "99999999999", "99999999999999999999"}) {
    settings = {};
    settings.pieces = bad;
    EXPECT_THAT(refusal(settings), HasSubstr("`pieces` ")) << bad;
    settings = {};
    settings.max_staleness = bad;
    EXPECT_THAT(refusal(settings), HasSubstr("`max_staleness` ")) << bad;
  }
  settings = {};
  settings.pieces = "atuo";
  EXPECT_EQ(
      refusal(settings),
      "`pieces` atuo is not known (did you mean 'auto'?); it must be a whole number between 0 "
      "and 1048576, or auto");
}

TEST(PlanSettingsTable, WordsAreRefusedAtTheDoor) {
  const auto with = [](std::string PlanSettings::*member, const char* word) {
    PlanSettings settings;
    settings.*member = word;
    return refusal(settings);
  };
  EXPECT_THAT(with(&PlanSettings::weights, "stahs"), HasSubstr("did you mean 'stash'"));
  EXPECT_THAT(with(&PlanSettings::coarse, "blok"), HasSubstr("there are: block, conv, identity"));
  EXPECT_THAT(with(&PlanSettings::residual_wire, "fp8"), HasSubstr("`residual_wire` fp8"));
  EXPECT_THAT(with(&PlanSettings::merge, "mean"), HasSubstr("`merge` mean"));
  EXPECT_THAT(with(&PlanSettings::exchange_wire, "fp8"), HasSubstr("`exchange_wire` fp8"));
  EXPECT_THAT(with(&PlanSettings::inner, "none"), HasSubstr("`inner` none"));
}

TEST(PlanSettingsTable, BlamesASettingByItsKey) {
  PlanSettings settings;
  settings.microbatches = 0;
  try {
    check_plan_settings(settings);
    FAIL() << "0 microbatches are allowed";
  } catch (const UserError& error) {
    EXPECT_EQ(error.field(), "microbatches");
    EXPECT_EQ(error.value(), "0");
    EXPECT_EQ(error.reason(), "is out of range; it must be between 1 and 1048576");
  }
}

/// Before anything is measured: the planner itself would refuse it later.
TEST(PlanSettingsTable, RefusesMoreMicrobatchesThanSamples) {
  PlanSettings settings;
  settings.batch = 16;
  settings.microbatches = 16;
  EXPECT_EQ(refusal(settings), "");
  settings.microbatches = 17;
  EXPECT_EQ(refusal(settings),
            "`microbatches` 17 are more than the 16 samples of `batch`: use at most 16");
}

TEST(PlanSettingsTable, KnowsWhoUsesASetting) {
  PlanSettings settings;
  settings.strategy = "daso";
  settings.inner = "parareal";
  EXPECT_TRUE(uses(settings, "merge"));
  EXPECT_TRUE(uses(settings, "pieces")) << "of the strategy inside a node";
  EXPECT_FALSE(uses(settings, "local_steps"));
  EXPECT_THAT(users_of("batch"), IsEmpty());
  settings.strategy = "serial";
  EXPECT_FALSE(uses(settings, "pieces")) << "serial has no strategy inside";
}

class AutoStrategy : public ::testing::Test {
 protected:
  StrategyChoice choose(int workers, const plan::Link& link) const {
    plan::Machine machine{.workers_per_node = workers, .inside = link, .between = link};
    PlanSettings settings;
    settings.microbatches = 4;
    return choose_strategy(settings, *cost_, [&](const PlanSettings& one) {
      return plan_with(one, {.network = network_, .machine = machine, .cost = cost_.get()});
    });
  }

  const plan::Network network_ = plan::make_network(graph::make_model("lenet", {1, 28, 28}, 10));
  const std::unique_ptr<cost::CostModel> cost_ = cost::make_analytic_cost(network_);
};

TEST_F(AutoStrategy, TakesSerialOnOneWorker) { EXPECT_EQ(choose(1, {}).strategy, "serial"); }

TEST_F(AutoStrategy, TakesAPlanThatIsPlainSgd) {
  for (const plan::Link& link :
       {plan::Link{}, plan::Link{.bytes_per_second = 1e8, .latency_seconds = 1e-4}}) {
    const StrategyChoice choice = choose(2, link);
    plan::Machine machine{.workers_per_node = 2, .inside = link, .between = link};
    PlanSettings settings;
    settings.strategy = choice.strategy;
    settings.microbatches = 4;
    const plan::Plan plan =
        plan_with(settings, {.network = network_, .machine = machine, .cost = cost_.get()});
    EXPECT_EQ(what_it_changes(plan), "") << choice.strategy;
    EXPECT_THAT(choice.why, HasSubstr(choice.strategy + " on 2 workers, "));
    EXPECT_THAT(choice.why, HasSubstr("the next"));
  }
}

}  // namespace
}  // namespace plait::planner
