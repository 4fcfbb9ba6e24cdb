// Rounding up and the median, at their edges.
#include <gtest/gtest.h>

#include <cstdint>

#include "base/median.hpp"
#include "base/rounding.hpp"

namespace plait {
namespace {

TEST(Rounding, DividesUp) {
  EXPECT_EQ(divide_up(0, 4), 0);
  EXPECT_EQ(divide_up(1, 4), 1);
  EXPECT_EQ(divide_up(4, 4), 1);
  EXPECT_EQ(divide_up(5, 4), 2);
  EXPECT_EQ(divide_up(std::size_t{7}, 1), 7U);
}

TEST(Rounding, GivesTheNextMultiple) {
  EXPECT_EQ(round_up(0, 64), 0);
  EXPECT_EQ(round_up(63, 64), 64);
  EXPECT_EQ(round_up(64, 64), 64);
  EXPECT_EQ(round_up(std::int64_t{1} << 40, 3), (std::int64_t{1} << 40) + 2);
}

TEST(Median, IsTheMiddleValueOrTheMeanOfTwo) {
  EXPECT_EQ(median({}), 0);
  EXPECT_EQ(median({3}), 3);
  EXPECT_EQ(median({9, 1, 4}), 4);
  EXPECT_EQ(median({9, 1, 4, 2}), 3);
  EXPECT_EQ(median({2, 2, 2, 8}), 2);
}

}  // namespace
}  // namespace plait
