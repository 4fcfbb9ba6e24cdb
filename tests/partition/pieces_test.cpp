// The pieces of the default method, one by one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "partition/assignment.hpp"
#include "partition/balance.hpp"
#include "partition/chain.hpp"
#include "partition/grow.hpp"
#include "partition/measure.hpp"
#include "partition/owners.hpp"
#include "partition/sparse_networks.hpp"

namespace plait::partition {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

LayerChain random_chain(const Network& network, int parts, bool own_input) {
  LayerChain chain{make_stages(network, own_input, true), {}, parts, 0.01};
  Rng rng(7, Purpose::test);
  for (const Stage& stage : chain.stages) {
    Parts part;
    for (std::size_t v = 0; v < stage.vertices(); ++v) {
      part.push_back(static_cast<std::int32_t>(rng.below(static_cast<std::uint32_t>(parts))));
    }
    chain.part.push_back(part);
  }
  return chain;
}

std::int64_t words(const Network& network, const LayerChain& chain, bool own_input) {
  return measure_partition(network, to_partition(chain, own_input)).volume_words / 2;
}

TEST(Assignment, IsTheCheapestOfAllPermutations) {
  Rng rng(1, Purpose::test);
  for (std::size_t count = 1; count <= 6; ++count) {
    for (int trial = 0; trial < 20; ++trial) {
      std::vector<std::int64_t> cost(count * count);
      for (auto& c : cost) c = static_cast<std::int64_t>(rng.below(50)) - 25;
      const auto sum = [&](const std::vector<std::int32_t>& given) {
        std::int64_t all = 0;
        for (std::size_t i = 0; i < count; ++i) {
          all += cost[i * count + static_cast<std::size_t>(given[i])];
        }
        return all;
      };
      std::vector<std::int32_t> order(count);
      std::iota(order.begin(), order.end(), 0);
      std::int64_t least = sum(order);
      while (std::ranges::next_permutation(order).found) least = std::min(least, sum(order));
      EXPECT_EQ(sum(cheapest_assignment(cost, count)), least);
    }
  }
}

TEST(Stage, MergesEqualRowsAndEqualColumns) {
  const auto stages = make_stages(rings(8, 4, 3, 1), false, true);
  EXPECT_EQ(stages[1].vertices(), 8U);
  EXPECT_THAT(stages[1].rows, Each(4));
  EXPECT_THAT(stages[1].row_weight, Each(8));
  EXPECT_THAT(stages[1].net_columns, Each(4));
  EXPECT_EQ(stages[2].vertices(), 4U);  // 2^2 further and back
  EXPECT_EQ(stages[0].nets.item.size(), 0U);
}

TEST(Stage, WithoutMergingHasAVertexPerRow) {
  const auto stages = make_stages(rings(8, 4, 2, 1), true, false);
  ASSERT_EQ(stages.size(), 3U);
  for (const Stage& stage : stages) EXPECT_EQ(stage.vertices(), 32U);
}

TEST(Stage, ASplitKeepsNetsAndRows) {
  Stage stage = make_stages(rings(8, 4, 2, 1), false, true)[1];
  const std::vector<std::int32_t> nets(stage.nets[3].begin(), stage.nets[3].end());
  stage.split(std::vector<std::int32_t>{3, 11});
  ASSERT_EQ(stage.vertices(), 9U);
  EXPECT_THAT(stage.rows, ElementsAre(4, 4, 4, 2, 4, 4, 4, 4, 2));
  EXPECT_TRUE(std::ranges::equal(stage.nets[8], nets));
  for (const std::int32_t net : nets)
    EXPECT_EQ(stage.pins[static_cast<std::size_t>(net)].back(), 8);
}

TEST(StageCost, KnowsWhatAMoveAdds) {
  for (const bool own_input : {false, true}) {
    for (const Network& network : {irregular({10, 20, 15, 18}, 3, 1), rings(8, 4, 4, 1)}) {
      LayerChain chain = random_chain(network, 3, own_input);
      std::int64_t before = words(network, chain, own_input);
      for (std::size_t k = 0; k < chain.stages.size(); ++k) {
        StageCost cost(chain, k);
        for (std::size_t v = 0; v < chain.stages[k].vertices(); ++v) {
          const std::int32_t to = (chain.part[k][v] + 1) % 3;
          const std::int64_t guess = before + cost.added(v, to);
          cost.move(v, to);
          chain.part[k] = cost.part();
          before = words(network, chain, own_input);
          ASSERT_EQ(before, guess) << "stage " << k << " vertex " << v;
        }
      }
    }
  }
}

TEST(StageCost, RenamesToTheLeastWords) {
  const Network network = irregular({10, 20, 15, 18}, 3, 2);
  LayerChain chain = random_chain(network, 3, false);
  LayerChain renamed = chain;
  StageCost cost(renamed, 1);
  cost.rename();
  renamed.part[1] = cost.part();
  std::vector<std::int32_t> order{0, 1, 2};
  std::int64_t least = words(network, chain, false);
  const Parts old = chain.part[1];
  while (std::ranges::next_permutation(order).found) {
    std::ranges::transform(old, chain.part[1].begin(),
                           [&](std::int32_t p) { return order[static_cast<std::size_t>(p)]; });
    least = std::min(least, words(network, chain, false));
  }
  EXPECT_EQ(words(network, renamed, false), least);
}

TEST(Growth, CutsRingsIntoArcs) {
  const Stage stage =
      make_stages(rings(16, 2, 2, 1), true, true)[2];  // two rings, every other node
  const Parts part = grown_parts(stage, 4);
  int cuts = 0;
  for (std::size_t net = 0; net < stage.pins.size(); ++net) {
    const auto pins = stage.pins[net];
    ASSERT_EQ(pins.size(), 2U);
    if (part[static_cast<std::size_t>(pins[0])] != part[static_cast<std::size_t>(pins[1])]) ++cuts;
  }
  EXPECT_EQ(cuts, 4);
  for (std::int32_t p = 0; p < 4; ++p) EXPECT_EQ(std::ranges::count(part, p), 4);
}

LayerChain ring_chain(int parts) {
  LayerChain chain{make_stages(rings(16, 16, 3, 1), true, true), {}, parts, 0.01};
  for (const Stage& stage : chain.stages) chain.part.push_back(grown_parts(stage, parts));
  return chain;
}

TEST(Balance, SplitsAsFewClassesAsItCan) {
  LayerChain chain = ring_chain(3);
  balance_stage(chain, 1);
  const StageCost cost(chain, 1);
  for (std::int32_t p = 0; p < 3; ++p) EXPECT_LE(cost.part_weight(p), 86 * 32);  // of 85.3 rows
  EXPECT_LE(chain.stages[1].vertices(), 16U + 2U);
}

TEST(Balance, SplitsNoClassWhereWholeOnesFit) {
  LayerChain chain = ring_chain(4);
  chain.part[1].assign(16, 0);
  balance_stage(chain, 1);
  const StageCost cost(chain, 1);
  for (std::int32_t p = 0; p < 4; ++p) EXPECT_EQ(cost.part_weight(p), 64 * 32);
  EXPECT_EQ(chain.stages[1].vertices(), 16U);
}

}  // namespace
}  // namespace plait::partition
