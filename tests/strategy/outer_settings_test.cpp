// The outer optimizer of diloco: what is chosen where nobody says.
#include <gtest/gtest.h>

#include "strategy/replicas/exchange_request.hpp"

namespace plait::strategy {
namespace {

double gain(const OuterSettings& outer) { return outer.rate / (1 - outer.momentum); }

OuterSettings chosen(int local_steps, std::int64_t total = 0) {
  return outer_settings({.local_steps = local_steps, .total_steps = total});
}

TEST(OuterSettings, OfFewLocalStepsKeepTheLearningRateInside) {
  for (const int steps : {1, 4, 8, 32}) EXPECT_NEAR(gain(chosen(steps)), 1, 1e-9) << steps;
}

TEST(OuterSettings, GrowWithTheLocalStepsUpToThoseOfThePublication) {
  double before = 1;
  for (const int steps : {40, 64, 100, 200, 300, 500}) {
    EXPECT_GT(gain(chosen(steps)), before) << steps;
    before = gain(chosen(steps));
  }
  for (const int steps : {520, 1000, 60000}) {
    EXPECT_DOUBLE_EQ(chosen(steps).rate, 0.7) << steps;
    EXPECT_DOUBLE_EQ(chosen(steps).momentum, 0.9) << steps;
  }
}

TEST(OuterSettings, OfFewExchangesAveragePlainly) {
  for (const std::int64_t total : {1, 50, 100, 200}) {
    EXPECT_DOUBLE_EQ(chosen(100, total).rate, 1) << total;
    EXPECT_DOUBLE_EQ(chosen(100, total).momentum, 0) << total;
  }
  EXPECT_LT(chosen(100, 400).momentum, chosen(100, 1000).momentum);
  EXPECT_DOUBLE_EQ(chosen(100, 100000).momentum, chosen(100).momentum);
  for (const std::int64_t total : {1, 50, 100, 200, 300, 1000, 5000}) {
    EXPECT_GE(gain(chosen(100, total)), 1 - 1e-9) << total;
  }
}

TEST(OuterSettings, OfTheRequestWin) {
  const OuterSettings both = outer_settings({.outer_rate = 0.7, .outer_momentum = 0.9});
  EXPECT_DOUBLE_EQ(both.rate, 0.7);
  EXPECT_DOUBLE_EQ(both.momentum, 0.9);
  const OuterSettings without = outer_settings({.outer_momentum = 0});
  EXPECT_DOUBLE_EQ(without.rate, 1);
  EXPECT_DOUBLE_EQ(without.momentum, 0);
  const OuterSettings rate = outer_settings({.outer_rate = 1});  // 8 local steps
  EXPECT_DOUBLE_EQ(rate.rate, 1);
  EXPECT_DOUBLE_EQ(rate.momentum, 0);
}

}  // namespace
}  // namespace plait::strategy
