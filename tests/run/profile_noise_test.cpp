// How plait profile tells a quiet machine from a busy one: by steps of equal work.
#include <gtest/gtest.h>

#include "run/profile.hpp"

namespace plait::run {
namespace {

TEST(Noise, IsHowFarTheMedianStepIsFromTheFastest) {
  EXPECT_EQ(noise_of({}), 0);
  EXPECT_EQ(noise_of({2.0}), 0);
  EXPECT_DOUBLE_EQ(noise_of({2, 2, 2}), 0);
  EXPECT_DOUBLE_EQ(noise_of({3, 2, 2.5}), 0.25);
  EXPECT_DOUBLE_EQ(noise_of({2, 2, 2, 2, 50}), 0);  // one disturbed step is left out anyway
}

TEST(Noise, AFewPercentAreQuietAndABusyNeighbourIsNot) {
  EXPECT_LT(noise_of({1.00, 1.01, 1.02, 1.03, 1.05}), kNoisy);
  EXPECT_GT(noise_of({1.00, 1.40, 1.90, 1.95, 2.00}), kNoisy);
}

}  // namespace
}  // namespace plait::run
