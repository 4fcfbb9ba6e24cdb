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

TEST(Text, WideTablesBreakTheirLeftColumns) {
  const std::vector<Row> rows{{"name", "what it is", "size"}, {"a", "one two three four", "10"}};
  EXPECT_EQ(table(rows, 2, 24),
            "name  what it is    size\n"
            "a     one two         10\n"
            "      three four\n");
  EXPECT_EQ(table(rows, 2, 80), table(rows, 2));
  EXPECT_EQ(table({{"a-word-that-is-long", "1"}}, 1, 10), "a-word-that-is-long  1\n");
  EXPECT_EQ(table({{"a"}, {}, {"b"}}, 1, 80), "a\n\nb\n");
}

}  // namespace
}  // namespace plait
