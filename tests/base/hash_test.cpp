// XXH3 against its known value for nothing, and the independence of how bytes are cut.
#include "base/hash.hpp"

#include <gtest/gtest.h>

namespace plait {
namespace {

TEST(Hash, NothingHasTheKnownValue) {
  EXPECT_EQ(Hash().value(), 0x2d06800538d394c2ULL);
  EXPECT_EQ(Hash().hex(), "2d06800538d394c2");
}

TEST(Hash, PiecesGiveTheHashOfTheWhole) {
  Hash whole;
  whole.add(std::string(1000, 'a') + "bc");
  Hash pieces;
  for (int i = 0; i < 1000; ++i) pieces.add("a");
  pieces.add("");
  pieces.add("bc");
  EXPECT_EQ(whole.value(), pieces.value());
}

TEST(Hash, EveryByteMatters) {
  Hash a;
  a.add("layer1.weight");
  Hash b;
  b.add("layer2.weight");
  EXPECT_NE(a.value(), b.value());
}

TEST(Hash, HexHasSixteenDigits) {
  for (int i = 0; i < 100; ++i) {
    Hash hash;
    hash.add(&i, sizeof i);
    EXPECT_EQ(hash.hex().size(), 16U);
    EXPECT_EQ(std::stoull(hash.hex(), nullptr, 16), hash.value());
  }
}

}  // namespace
}  // namespace plait
