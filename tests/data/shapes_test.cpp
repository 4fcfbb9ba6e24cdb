// The built-in images with a label for each pixel: reproducible, with every class, and labels that
// lie where the shapes are.
#include "data/shapes.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "data/augment.hpp"
#include "data/open.hpp"
#include "data/test_files.hpp"

namespace plait::data {
namespace {

using ::testing::HasSubstr;

TEST(Shapes, DependOnSeedSplitAndNumberOnly) {
  const auto few = draw_shapes({.seed = 7, .count = 5});
  const auto many = draw_shapes({.seed = 7, .count = 12});
  const auto& labels = few->data().targets;
  EXPECT_TRUE(std::equal(labels.begin(), labels.end(), many->data().targets.begin()));
  EXPECT_NE(few->data().images, draw_shapes({.seed = 8, .count = 5})->data().images);
  EXPECT_NE(few->data().images, draw_shapes({.seed = 7, .split = 1, .count = 5})->data().images);
}

TEST(Shapes, HaveEveryClassAndThinOutlines) {
  const Splits splits = open_data("shapes", {.train_limit = 100, .test_limit = 10});
  EXPECT_TRUE(labels_pixels(*splits.train));
  EXPECT_EQ(splits.train->size(), 100);
  EXPECT_EQ(splits.test->size(), 10);
  EXPECT_EQ(splits.train->sample_shape(), (tensor::Shape{3, 48, 48}));
  EXPECT_EQ(splits.train->target_shape(), (tensor::Shape{48, 48}));
  std::array<double, 5> shares{};
  const auto drawn = draw_shapes({.count = 100});
  for (const float label : drawn->data().targets) {
    shares.at(static_cast<std::size_t>(label + 1)) += 1.0 / (100 * 48 * 48);
  }
  EXPECT_GT(shares[0], 0.02);  // does not count
  EXPECT_LT(shares[0], 0.15);
  EXPECT_GT(shares[1], 0.4);  // background
  for (std::size_t kind = 2; kind < 5; ++kind) EXPECT_GT(shares.at(kind), 0.04) << kind;
}

/// Neighbours with different labels have a pixel that does not count between them.
TEST(Shapes, OutlinesSeparateTheKinds) {
  const auto drawn = draw_shapes({.count = 20});
  const std::vector<float>& labels = drawn->data().targets;
  for (std::size_t i = 0; i + 1 < labels.size(); ++i) {
    if (i % 48 == 47) continue;
    const bool differ = labels[i] >= 0 && labels[i + 1] >= 0 && labels[i] != labels[i + 1];
    EXPECT_FALSE(differ) << i;
  }
}

TEST(Shapes, FlipMirrorsTheLabelsToo) {
  const auto drawn = draw_shapes({.count = 8});
  const Flip flip(drawn, 1);
  std::vector<float> image(3 * 48 * 48), label(48 * 48), image2(image), label2(label);
  int mirrored = 0;
  for (std::int64_t i = 0; i < 8; ++i) {
    drawn->get(i, 0, {image, label});
    flip.get(i, 0, {image2, label2});
    const bool moved = image != image2;
    mirrored += moved ? 1 : 0;
    for (std::size_t at = 0; at < label.size(); ++at) {
      const std::size_t other = moved ? at / 48 * 48 + 47 - at % 48 : at;
      ASSERT_EQ(label2[at], label[other]);
      ASSERT_EQ(image2[at], image[other]);
    }
  }
  EXPECT_GT(mirrored, 0);
  EXPECT_LT(mirrored, 8);
  EXPECT_THAT(test::user_error_of([&] { PadCrop(drawn, 4, 1); }), HasSubstr("labels of pixels"));
}

}  // namespace
}  // namespace plait::data
