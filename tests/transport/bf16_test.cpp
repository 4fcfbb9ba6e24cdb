// bf16 against known values and against a search for the nearest.
#include "transport/bf16.hpp"

#include <gtest/gtest.h>

#include "transport/contract_tools.hpp"

namespace plait::transport {
namespace {

TEST(Bf16, RoundsToTheNearestAndTiesToEven) {
  EXPECT_EQ(to_bf16(1.0F), 0x3f80);
  EXPECT_EQ(to_bf16(-2.0F), 0xc000);
  EXPECT_EQ(to_bf16(std::bit_cast<float>(0x3f808000U)), 0x3f80);  // a tie, even below
  EXPECT_EQ(to_bf16(std::bit_cast<float>(0x3f818000U)), 0x3f82);  // a tie, even above
  EXPECT_EQ(to_bf16(std::bit_cast<float>(0x3f808001U)), 0x3f81);
  EXPECT_EQ(to_bf16(std::bit_cast<float>(0x7f7fffffU)), 0x7f80);  // the largest float: infinity
  EXPECT_EQ(to_bf16(std::bit_cast<float>(0x80000001U)), 0x8000);  // a denormal: minus zero
}

TEST(Bf16, KeepsWhatIsNoNumber) {
  for (const std::uint32_t bits : {0x7f800001U, 0x7fc00000U, 0xffffffffU, 0xff80ffffU}) {
    EXPECT_TRUE(std::isnan(from_bf16(to_bf16(std::bit_cast<float>(bits))))) << std::hex << bits;
  }
  EXPECT_EQ(from_bf16(to_bf16(INFINITY)), INFINITY);
  EXPECT_EQ(from_bf16(to_bf16(-INFINITY)), -INFINITY);
}

TEST(Bf16, IsWhatASearchFinds) {
  Rng rng(1, Purpose::test);
  for (int i = 0; i < 200000; ++i) {
    const auto value = std::bit_cast<float>(rng.next_u32());
    if (std::isnan(value)) continue;
    const auto seen = std::bit_cast<std::uint32_t>(from_bf16(to_bf16(value)));
    ASSERT_EQ(seen, std::bit_cast<std::uint32_t>(contract::nearest_bf16(value))) << value;
  }
}

}  // namespace
}  // namespace plait::transport
