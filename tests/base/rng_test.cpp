// Philox against the known answers of its authors (Random123), and the streams built on it.
#include "base/rng.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <vector>

namespace plait {
namespace {

using Counter = std::array<std::uint32_t, 4>;

TEST(Philox, KnownAnswers) {
  EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}),
            (Counter{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  constexpr std::uint32_t ones = 0xffffffff;
  EXPECT_EQ(philox({ones, ones, ones, ones}, {ones, ones}),
            (Counter{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  // digits of pi
  EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Counter{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

std::vector<std::uint32_t> draw(Rng rng, int count = 8) {
  std::vector<std::uint32_t> numbers;
  for (int i = 0; i < count; ++i) numbers.push_back(rng.next_u32());
  return numbers;
}

TEST(Rng, SameNameSameStream) {
  EXPECT_EQ(draw(Rng(7, Purpose::init, 3, 4), 100), draw(Rng(7, Purpose::init, 3, 4), 100));
}

TEST(Rng, EveryPartOfTheNameMatters) {
  constexpr std::uint64_t high = std::uint64_t{1} << 32;
  const std::set<std::vector<std::uint32_t>> streams{
      draw(Rng(1, Purpose::init)),          draw(Rng(2, Purpose::init)),
      draw(Rng(1 + high, Purpose::init)),   draw(Rng(1, Purpose::shuffle)),
      draw(Rng(1, Purpose::dropout)),       draw(Rng(1, Purpose::init, 1)),
      draw(Rng(1, Purpose::init, high)),    draw(Rng(1, Purpose::init, 0, 1)),
      draw(Rng(1, Purpose::init, 0, high)), draw(Rng(1, Purpose::init, 1, 1)),
  };
  EXPECT_EQ(streams.size(), 10U);
}

TEST(Rng, StreamsDoNotOverlap) {
  std::set<std::uint32_t> first;
  for (std::uint32_t number : draw(Rng(5, Purpose::test, 0, 0), 1000)) first.insert(number);
  int shared = 0;
  for (std::uint32_t number : draw(Rng(5, Purpose::test, 0, 1), 1000))
    shared += first.contains(number);
  EXPECT_LE(shared, 2);  // 1000 * 1000 / 2^32 are expected by chance
}

TEST(Rng, UniformHasTheRightMoments) {
  Rng rng(11, Purpose::test);
  constexpr int count = 200'000;
  double sum = 0;
  double squares = 0;
  for (int i = 0; i < count; ++i) {
    const double x = rng.uniform();
    ASSERT_GE(x, 0.0);
    ASSERT_LT(x, 1.0);
    sum += x;
    squares += x * x;
  }
  const double mean = sum / count;
  EXPECT_NEAR(mean, 0.5, 0.003);  // 4.6 standard errors
  EXPECT_NEAR(squares / count - mean * mean, 1.0 / 12, 0.001);
}

TEST(Rng, UniformRange) {
  Rng rng(12, Purpose::test);
  for (int i = 0; i < 1000; ++i) {
    const float x = rng.uniform(-3, 5);
    ASSERT_GE(x, -3.0F);
    ASSERT_LE(x, 5.0F);
  }
}

TEST(Rng, NormalHasTheRightMoments) {
  Rng rng(13, Purpose::test);
  constexpr int count = 200'000;
  std::array<double, 5> moments{};
  for (int i = 0; i < count; ++i) {
    const double x = rng.normal();
    for (std::size_t k = 1; k < moments.size(); ++k) {
      moments[k] += std::pow(x, static_cast<double>(k)) / count;
    }
  }
  EXPECT_NEAR(moments[1], 0, 0.01);
  EXPECT_NEAR(moments[2], 1, 0.015);
  EXPECT_NEAR(moments[3], 0, 0.04);
  EXPECT_NEAR(moments[4], 3, 0.1);
}

// With n = 3 * 2^30 a plain modulo gives the first third twice its share, and a plain
// multiplication gives every third number twice its share; both would be seen at once.
TEST(Rng, BelowIsUnbiased) {
  Rng rng(14, Purpose::test);
  constexpr std::uint32_t n = 3U << 30;
  constexpr int count = 60'000;
  std::array<int, 3> thirds{};
  std::array<int, 3> residues{};
  for (int i = 0; i < count; ++i) {
    const std::uint32_t x = rng.below(n);
    ASSERT_LT(x, n);
    ++thirds[x >> 30];
    ++residues[x % 3];
  }
  for (int k : thirds) EXPECT_NEAR(k, count / 3, 600);  // 5 standard deviations
  for (int k : residues) EXPECT_NEAR(k, count / 3, 600);
}

TEST(Rng, BelowReachesEverySmallNumberEqually) {
  Rng rng(15, Purpose::test);
  std::array<int, 7> counts{};
  for (int i = 0; i < 70'000; ++i) ++counts[rng.below(7)];
  for (int count : counts) EXPECT_NEAR(count, 10'000, 500);
  EXPECT_EQ(rng.below(1), 0U);
}

}  // namespace
}  // namespace plait
