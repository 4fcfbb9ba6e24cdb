// Keys between backticks become flags; other backticks stay.
#include "cli/flag_text.hpp"

#include <gtest/gtest.h>

namespace plait::cli {
namespace {

TEST(FlagText, KeysBecomeFlags) {
  EXPECT_EQ(with_flags("`workers_per_node` 3 with `lr` 1"), "--workers-per-node 3 with --lr 1");
  EXPECT_EQ(with_flags("use `beta1`"), "use --beta1");
}

TEST(FlagText, OtherBackticksStay) {
  for (const char* text : {"", "no key", "`", "``", "a `b c` d", "`A`", "`a-b`", "end `open"}) {
    EXPECT_EQ(with_flags(text), text);
  }
  EXPECT_EQ(with_flags("a ` b `lr`"), "a ` b --lr") << "the key begins at the second backtick";
}

}  // namespace
}  // namespace plait::cli
