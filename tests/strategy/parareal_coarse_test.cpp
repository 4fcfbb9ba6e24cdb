// C_j and F_j as specs: they reach the shape they are asked for, and F_j maps 0 to 0.
#include <gmock/gmock.h>

#include "graph/shapes.hpp"
#include "strategy/parareal/coarse.hpp"
#include "strategy/parareal_testing.hpp"

namespace plait::strategy {
namespace {

struct Pair {
  tensor::Shape src;
  tensor::Shape dst;
};

std::ostream& operator<<(std::ostream& out, const Pair& pair) {
  return out << pair.src.to_string() << " -> " << pair.dst.to_string();
}

/// All kinds but the identity have a way.
const std::vector<Pair>& possible() {
  static const std::vector<Pair> pairs{
      {{16, 32, 32}, {16, 32, 32}},   // within a stage
      {{64, 32, 32}, {128, 16, 16}},  // stride 2
      {{64, 32, 32}, {256, 8, 8}},    // over a whole stage
      {{3, 32, 32}, {64, 4, 4}},      // stride 8
      {{3, 32, 32}, {512, 2, 2}},     //
      {{3, 32, 32}, {512, 1, 1}},     //
      {{512, 1, 1}, {512, 1, 1}},     //
      {{1, 28, 28}, {20, 28, 28}},    //
      {{1, 28, 28}, {20, 14, 14}},    //
      {{20, 28, 28}, {50, 7, 7}},     // odd sizes
      {{20, 7, 7}, {50, 3, 3}},       //
      {{1, 28, 28}, {50, 4, 4}},      //
      {{20, 28, 14}, {20, 14, 14}},   // not square
      {{2, 9, 5}, {3, 3, 5}},         //
      {{3, 224, 224}, {64, 56, 56}},  //
      {{3, 224, 224}, {512, 7, 7}},   //
      {{32}, {32}},                   // flat
      {{784}, {10}},                  //
      {{10}, {784}},                  // features may grow
      {{1}, {1}},                     //
      {{3, 32, 32}, {512}},           // image to flat
      {{50, 4, 4}, {800}},            //
      {{1, 28, 28}, {20, 24, 24}},    // windows without padding
      {{1, 28, 28}, {20, 12, 12}},    //
      {{3, 19, 13}, {5, 11, 9}},      // no stride leads there
      {{3, 16, 16}, {3, 16, 17}},     // images that padding makes larger
      {{3, 16, 16}, {8, 17, 8}},      //
      {{8, 1, 1}, {8, 2, 2}},         //
      {{3, 16, 16}, {3, 32, 32}},     //
  };
  return pairs;
}

/// Tensors that would have to grow too much, or to become images again.
const std::vector<Pair>& impossible() {
  static const std::vector<Pair> pairs{{{3, 16, 16}, {3, 33, 16}}, {{784}, {1, 28, 28}}};
  return pairs;
}

bool has_batch_norm(const graph::BlockSpec& block) {
  return std::ranges::any_of(block.nodes, [](const graph::Node& node) {
    return std::holds_alternative<ops::BatchNorm>(node.layer);
  });
}

std::vector<std::string> bias_names(const graph::BlockSpec& block, const tensor::Shape& src) {
  std::vector<std::string> names;
  for (const ops::ParameterSpec& parameter : graph::block_parameters(block, src)) {
    if (parameter.name.ends_with("bias")) names.push_back(parameter.name);
  }
  return names;
}

TEST(PararealCoarse, EntersReachTheShape) {
  for (const Pair& pair : possible()) {
    const graph::BlockSpec block = enter_block("p.enter", pair.src, pair.dst);
    ASSERT_FALSE(block.nodes.empty()) << pair;
    EXPECT_EQ(block.name, "p.enter");
    EXPECT_EQ(node_shapes(block, pair.src).back(), pair.dst) << pair;
    EXPECT_EQ(has_batch_norm(block), pair.dst.rank() == 3) << pair;
  }
}

TEST(PararealCoarse, EntersSeeEveryPixel) {
  // a window of 3 with a stride above 3 would leave pixels out, so they are averaged first
  for (const Pair& pair : possible()) {
    if (pair.src.rank() != 3 || pair.dst.rank() != 3 || pair.src[1] != pair.src[2]) continue;
    if (pair.dst[1] == 1 || pair.src[1] % pair.dst[1] != 0) continue;
    for (const graph::Node& node : enter_block("p", pair.src, pair.dst).nodes) {
      const auto* conv = std::get_if<ops::Convolution>(&node.layer);
      if (conv != nullptr) {
        EXPECT_LE(conv->stride.height, 3) << pair;
      }
    }
  }
}

TEST(PararealCoarse, CoarsePartsReachTheShapeAndMapZeroToZero) {
  for (const CoarseKind kind : {CoarseKind::block, CoarseKind::conv}) {
    for (const Pair& pair : possible()) {
      SCOPED_TRACE(std::string(name_of(kind)));
      ASSERT_TRUE(coarse_fits(kind, pair.src, pair.dst)) << pair;
      const graph::BlockSpec block = coarse_block("p.coarse", kind, pair.src, pair.dst);
      EXPECT_EQ(block.name, "p.coarse");
      EXPECT_EQ(node_shapes(block, pair.src).back(), pair.dst) << pair;
      for (const graph::Node& node : block.nodes) {
        const auto* norm = std::get_if<ops::BatchNorm>(&node.layer);
        EXPECT_FALSE(norm != nullptr && norm->centered) << pair;
      }
      EXPECT_THAT(bias_names(block, pair.src), testing::IsEmpty()) << pair;
    }
  }
}

TEST(PararealCoarse, AConvIsOneLayerWithWeightsAndABlockSeveral) {
  for (const Pair& pair : possible()) {
    const auto weights = [&](CoarseKind kind) {
      return std::ranges::count_if(
          graph::block_parameters(coarse_block("p", kind, pair.src, pair.dst), pair.src),
          [](const ops::ParameterSpec& one) { return one.shape.rank() > 1; });
    };
    EXPECT_EQ(weights(CoarseKind::conv), 1) << pair;
    EXPECT_GE(weights(CoarseKind::block), 2) << pair;
  }
}

TEST(PararealCoarse, NothingGrowsTooMuch) {
  for (const Pair& pair : impossible()) {
    for (const CoarseKind kind : coarse_kinds()) {
      EXPECT_FALSE(coarse_fits(kind, pair.src, pair.dst)) << name_of(kind) << " " << pair;
    }
    EXPECT_TRUE(enter_block("p", pair.src, pair.dst).nodes.empty()) << pair;
  }
}

TEST(PararealCoarse, TheIdentityIsForEqualShapesOnly) {
  for (const Pair& pair : possible()) {
    EXPECT_EQ(coarse_fits(CoarseKind::identity, pair.src, pair.dst), pair.src == pair.dst) << pair;
  }
  EXPECT_FALSE(coarse_fits(CoarseKind::identity, {16}, {4, 2, 2}));
  EXPECT_TRUE(coarse_block("p", CoarseKind::identity, {16}, {16}).nodes.empty());
}

TEST(PararealCoarse, WordsOfKinds) {
  for (const CoarseKind kind : coarse_kinds()) {
    EXPECT_EQ(coarse_kind(std::string(name_of(kind))), kind);
  }
  EXPECT_THROW(coarse_kind("blok"), std::logic_error) << "the table of settings refuses it";
}

}  // namespace
}  // namespace plait::strategy
