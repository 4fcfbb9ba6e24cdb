// Shards cover everything once; pieces read and write as one array.
#include "transport/pieces.hpp"

#include <gtest/gtest.h>

#include <numeric>

namespace plait::transport {
namespace {

TEST(Shards, AreContiguousAndAsEqualAsUnitsOf16Allow) {
  for (const std::size_t n : {0, 1, 15, 16, 17, 64, 100, 1000, 1003}) {
    for (int members = 1; members <= 9; ++members) {
      std::size_t at = 0;
      std::size_t least = n;
      std::size_t most = 0;
      for (int member = 0; member < members; ++member) {
        const IndexRange shard = shard_of(n, members, member);
        EXPECT_EQ(shard.begin, at) << n << " over " << members;
        EXPECT_TRUE(shard.size() % 16 == 0 || shard.end == n) << n << " over " << members;
        at = shard.end;
        least = std::min(least, shard.size());
        most = std::max(most, shard.size());
      }
      EXPECT_EQ(at, n);
      EXPECT_LE(most - least, 31U) << n << " over " << members;  // one unit and a short one
    }
  }
}

TEST(Shards, OfManyValuesDoNotOverflow) {
  const std::size_t n = std::size_t{1} << 40U;
  EXPECT_EQ(shard_of(n, 1024, 1023).end, n);
  EXPECT_EQ(shard_of(n, 1024, 5).size(), n / 1024);
}

TEST(Pieces, AreOneArray) {
  std::vector<float> a{0, 1, 2};
  std::vector<float> b;
  std::vector<float> c{3};
  std::vector<float> d{4, 5, 6, 7};
  const Pieces pieces({a, b, c, d});
  ASSERT_EQ(pieces.size(), 8U);
  for (std::size_t begin = 0; begin <= 8; ++begin) {
    for (std::size_t end = begin; end <= 8; ++end) {
      std::vector<float> seen(end - begin);
      pieces.read({begin, end}, seen.data());
      std::vector<float> expected(end - begin);
      std::iota(expected.begin(), expected.end(), static_cast<float>(begin));
      EXPECT_EQ(seen, expected);
      const bool one = begin == end || end <= 3 || begin >= 4 || (begin == 3 && end == 4);
      EXPECT_EQ(pieces.in_one({begin, end}), one) << begin << " " << end;
      if (one && begin < end) {
        EXPECT_EQ(pieces.part({begin, end}).front(), begin);
      }
    }
  }
  const float changed[] = {20, 30, 40};
  pieces.write({2, 5}, changed);
  EXPECT_EQ(a, (std::vector<float>{0, 1, 20}));
  EXPECT_EQ(c, (std::vector<float>{30}));
  EXPECT_EQ(d, (std::vector<float>{40, 5, 6, 7}));
}

TEST(Pieces, MayBeNone) {
  const Pieces pieces({});
  EXPECT_EQ(pieces.size(), 0U);
  EXPECT_TRUE(pieces.in_one({0, 0}));
  pieces.read({0, 0}, nullptr);
}

}  // namespace
}  // namespace plait::transport
