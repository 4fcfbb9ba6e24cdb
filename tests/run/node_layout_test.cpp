// How ranks lie on nodes: what daso cannot use is named, with the flags that mend it.
#include "session/node_layout.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plait::run {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

TEST(NodeLayout, HasNothingToSayOfOneNodeOrOfBlocks) {
  EXPECT_EQ(session::uneven_nodes(std::vector<int>{0}), "");
  EXPECT_EQ(session::uneven_nodes(std::vector<int>{0, 0, 0}), "");
  EXPECT_EQ(session::uneven_nodes(std::vector<int>{0, 1}), "");
  EXPECT_EQ(session::uneven_nodes(std::vector<int>{0, 0, 1, 1, 2, 2}), "");
}

TEST(NodeLayout, NamesBlockDistributionForRanksThatAlternate) {
  EXPECT_THAT(session::uneven_nodes(std::vector<int>{0, 1, 0, 1}),
              AllOf(HasSubstr("node 0 has rank(s) 0, 2; node 1 has rank(s) 1, 3"),
                    HasSubstr("--map-by slot"), HasSubstr("--map-by ppr:2:node"),
                    HasSubstr("--distribution=block"), Not(HasSubstr("\n"))));
}

TEST(NodeLayout, NamesEqualNumbersForUnevenNodes) {
  EXPECT_THAT(session::uneven_nodes(std::vector<int>{0, 0, 0, 1}),
              AllOf(HasSubstr("node 0 has rank(s) 0, 1, 2; node 1 has rank(s) 3"),
                    HasSubstr("--map-by ppr:2:node"), HasSubstr("--ntasks-per-node=2")));
}

}  // namespace
}  // namespace plait::run
