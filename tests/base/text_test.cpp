// Numbers and tables for people.
#include "base/text.hpp"

#include <gtest/gtest.h>

namespace plait {
namespace {

TEST(Text, NumbersAndTables) {
  EXPECT_EQ(with_commas(-1703258), "-1,703,258");
  EXPECT_EQ(with_commas(-123), "-123");
  EXPECT_EQ(duration(3665), "1:01:05");
  EXPECT_EQ(duration(-1), "0:00");
  EXPECT_EQ(with_bytes(1536), "1.5 KiB");
  EXPECT_EQ(table({{"a", "1"}, {"bcd", "100"}}, 1), "a      1\nbcd  100\n");
}

}  // namespace
}  // namespace plait
