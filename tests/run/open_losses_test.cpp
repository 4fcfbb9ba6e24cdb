// OpenLosses: a minibatch's loss is given once all its loss tasks have run, in order.
#include "run/open_losses.hpp"

#include <gtest/gtest.h>

namespace plait::run {
namespace {

TEST(OpenLosses, AddsTheTasksOfAMinibatch) {
  OpenLosses losses(2);
  losses.add(7, {.sum = 1.5, .correct = 2});
  EXPECT_TRUE(losses.take().empty());
  losses.add(7, {.sum = 0.25, .correct = 1});
  const std::vector<MinibatchLoss> complete = losses.take();
  ASSERT_EQ(complete.size(), 1);
  EXPECT_EQ(complete[0].minibatch, 7);
  EXPECT_EQ(complete[0].loss.sum, 1.75);
  EXPECT_EQ(complete[0].loss.correct, 3);
  EXPECT_TRUE(losses.take().empty());
}

TEST(OpenLosses, LaterMinibatchesWaitForEarlierOnes) {
  OpenLosses losses(2);
  losses.add(0, {.sum = 1});
  losses.add(1, {.sum = 2});
  losses.add(1, {.sum = 3});
  EXPECT_TRUE(losses.take().empty());
  losses.add(0, {.sum = 4});
  const std::vector<MinibatchLoss> complete = losses.take();
  ASSERT_EQ(complete.size(), 2);
  EXPECT_EQ(complete[0].loss.sum, 5);
  EXPECT_EQ(complete[1].minibatch, 1);
  EXPECT_EQ(complete[1].loss.sum, 5);
}

}  // namespace
}  // namespace plait::run
