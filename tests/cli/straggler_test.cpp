// Who holds the others up.
#include "cli/straggler.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plait {
namespace {

std::vector<WorkerFigures> busy(const std::vector<double>& shares) {
  std::vector<WorkerFigures> figures;
  for (const double share : shares) figures.push_back({.busy = share, .memory = 0});
  return figures;
}

TEST(Straggler, IsNamedWithItsCost) {
  const auto found = find_straggler(busy({0.9, 0.9, 0.9, 0.9}), busy({0.1, 0.1, 1.0, 0.1}));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->worker, 2);
  EXPECT_NEAR(found->times, 10, 1e-9);
  EXPECT_NEAR(found->cost, 0.9, 1e-9);
  EXPECT_THAT(straggler_text(*found), testing::HasSubstr("worker 2 is the straggler"));
  EXPECT_THAT(straggler_text(*found), testing::HasSubstr("10.0 times as long"));
}

TEST(Straggler, IsNotOneWhoHasMoreWork) {
  EXPECT_FALSE(find_straggler(busy({0.2, 0.9}), busy({0.2, 0.9})));
  EXPECT_FALSE(find_straggler(busy({0.2, 0.9}), busy({0.3, 0.8})));
  EXPECT_TRUE(find_straggler(busy({0.2, 0.9}), busy({0.9, 0.4})));
}

TEST(Straggler, NeedsOthers) {
  EXPECT_FALSE(find_straggler(busy({0.5}), busy({1.0})));
  EXPECT_FALSE(find_straggler({}, {}));
  EXPECT_FALSE(find_straggler(busy({0.5, 0}), busy({1.0, 0.1})));
}

}  // namespace
}  // namespace plait
