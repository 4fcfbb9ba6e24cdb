// The decorators of datasets on small arrays whose values say where they came from.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "data/augment.hpp"
#include "data/memory.hpp"
#include "data/normalise.hpp"
#include "data/select.hpp"
#include "data/test_files.hpp"

namespace plait::data {
namespace {

/// `count` samples whose element e is 100 * sample + e + 1.
DatasetPtr ramp(std::int64_t count, tensor::Shape shape) {
  std::vector<float> images;
  std::vector<float> targets;
  for (std::int64_t n = 0; n < count; ++n) {
    for (std::int64_t e = 0; e < shape.elements(); ++e)
      images.push_back(static_cast<float>(100 * n + e + 1));
    targets.push_back(static_cast<float>(n));
  }
  return std::make_shared<MemoryDataset>(MemoryData{
      .sample_shape = std::move(shape), .images = images, .target_shape = {1}, .targets = targets});
}

std::vector<float> image_of(const Dataset& dataset, std::int64_t index, std::uint64_t epoch = 0) {
  std::vector<float> image(static_cast<std::size_t>(dataset.sample_shape().elements()));
  float target = 0;
  dataset.get(index, epoch, {image, {&target, 1}});
  return image;
}

TEST(MemoryDataset, RefusesShapesThatDoNotFit) {
  EXPECT_THROW(MemoryDataset({.sample_shape = {2}, .images = Bytes{1, 2, 3}, .targets = {1}}),
               Failure);
  EXPECT_THROW(MemoryDataset({.sample_shape = {2}, .images = Bytes{1, 2}, .targets = {1, 2}}),
               Failure);
}

TEST(Normalise, GivesMeanZeroAndDeviationOnePerChannel) {
  const DatasetPtr raw = ramp(50, {3, 2, 2});
  const ChannelStatistics statistics = measure_channels(*raw);
  ASSERT_EQ(statistics.mean.size(), 3U);
  // Channel c holds 100 n + 4 c + {1, 2, 3, 4}.
  EXPECT_NEAR(statistics.mean[1], 100 * 24.5 + 4 + 2.5, 1e-3);
  EXPECT_NEAR(statistics.deviation[1], std::sqrt(1e4 * (2500 - 1) / 12 + 1.25), 0.1);
  const Normalise normal(raw, statistics);
  const ChannelStatistics after = measure_channels(normal);
  for (std::size_t c = 0; c < 3; ++c) {
    EXPECT_NEAR(after.mean[c], 0, 1e-6);
    EXPECT_NEAR(after.deviation[c], 1, 1e-6);
  }
}

TEST(Normalise, ConstantChannelsAndChosenChannels) {
  const auto flat = std::make_shared<MemoryDataset>(
      MemoryData{.sample_shape = {2}, .images = std::vector<float>{5, 1, 5, 3}, .targets = {0, 0}});
  const ChannelStatistics statistics = measure_channels(*flat);
  EXPECT_EQ(statistics.deviation, (std::vector<float>{1, 1}));
  EXPECT_EQ(image_of(Normalise(flat, statistics), 1), (std::vector<float>{0, 1}));
  EXPECT_EQ(measure_channels(*flat, 1).mean, (std::vector<float>{3.5F}));
  EXPECT_THROW(measure_channels(*flat, 3), Failure);
}

TEST(ShiftPlane, EqualsThePlainDefinition) {
  const std::int64_t height = 4;
  const std::int64_t width = 5;
  for (std::int64_t dy = -4; dy <= 4; ++dy) {
    for (std::int64_t dx = -5; dx <= 5; ++dx) {
      std::vector<float> plane(20);
      for (std::size_t i = 0; i < 20; ++i) plane[i] = static_cast<float>(i + 1);
      std::vector<float> expected(20);
      for (std::int64_t y = 0; y < height; ++y) {
        for (std::int64_t x = 0; x < width; ++x) {
          const bool inside = y + dy >= 0 && y + dy < height && x + dx >= 0 && x + dx < width;
          expected[static_cast<std::size_t>(y * width + x)] =
              inside ? plane[static_cast<std::size_t>((y + dy) * width + x + dx)] : 0;
        }
      }
      shift_plane({plane.data(), height, width}, dy, dx);
      EXPECT_EQ(plane, expected) << dy << " " << dx;
    }
  }
}

TEST(PadCrop, CropsEveryChannelAlikeAndDependsOnEpochAndSample) {
  const PadCrop crop(ramp(3, {2, 4, 4}), 2, 9);
  std::set<std::vector<float>> seen;
  for (std::uint64_t epoch = 0; epoch < 300; ++epoch) {
    const auto image = image_of(crop, 1, epoch);
    EXPECT_EQ(image, image_of(crop, 1, epoch));
    for (std::size_t i = 0; i < 16; ++i) {
      if (image[i] != 0) {
        EXPECT_EQ(image[i] + 16, image[i + 16]);
      }
    }
    seen.insert(image);
  }
  EXPECT_EQ(seen.size(), 25U);
  EXPECT_THROW(PadCrop(ramp(1, {8}), 2, 1), UserError);
  EXPECT_THROW(PadCrop(ramp(1, {1, 4, 4}), 4, 1), UserError);
}

TEST(Flip, MirrorsAboutHalf) {
  const DatasetPtr raw = ramp(1000, {1, 2, 3});
  const Flip flip(raw, 3);
  int flipped = 0;
  for (std::int64_t n = 0; n < 1000; ++n) {
    const auto before = image_of(*raw, n);
    const auto after = image_of(flip, n);
    const std::vector<float> mirrored{before[2], before[1], before[0],
                                      before[5], before[4], before[3]};
    ASSERT_TRUE(after == before || after == mirrored);
    flipped += after == mirrored ? 1 : 0;
  }
  EXPECT_NEAR(flipped, 500, 80);
}

// With one shared stream the flip would follow the vertical shift.
TEST(Flip, IsIndependentOfTheCrop) {
  const tensor::Shape shape{1, 3, 3};
  const DatasetPtr raw = ramp(1, shape);
  const PadCrop crop(raw, 1, 5);
  const Flip flip(raw, 5);
  int together[3][2] = {};
  for (std::uint64_t epoch = 0; epoch < 1200; ++epoch) {
    const auto cropped = image_of(crop, 0, epoch);
    const float middle = cropped[4];  // 3 y + x + 1 of the pixel that moved to the centre.
    const int dy = static_cast<int>((middle - 1) / 3);
    ++together[dy][image_of(flip, 0, epoch)[0] == 1 ? 0 : 1];
  }
  for (const auto& row : together) {
    for (const int count : row) EXPECT_NEAR(count, 200, 60);
  }
}

TEST(Shard, DealsEverySampleOnce) {
  const DatasetPtr raw = ramp(11, {1});
  for (int ranks = 1; ranks <= 4; ++ranks) {
    std::multiset<float> dealt;
    for (int rank = 0; rank < ranks; ++rank) {
      const Shard shard(raw, rank, ranks);
      for (std::int64_t i = 0; i < shard.size(); ++i) dealt.insert(image_of(shard, i)[0]);
    }
    EXPECT_EQ(dealt.size(), 11U);
    EXPECT_EQ(std::set<float>(dealt.begin(), dealt.end()).size(), 11U);
  }
  EXPECT_EQ(image_of(Shard(raw, 1, 4), 2)[0], 901.0F);
  EXPECT_THROW(Shard(raw, 4, 4), UserError);
  EXPECT_THROW(Shard(raw, 0, 12), UserError);
}

TEST(Shard, KeepsTheAugmentationOfASample) {
  const DatasetPtr crop = std::make_shared<PadCrop>(ramp(12, {1, 4, 4}), 2, 1);
  EXPECT_EQ(image_of(Shard(crop, 2, 3), 3, 7), image_of(*crop, 11, 7));
}

TEST(Subset, TakesTheFirst) {
  const DatasetPtr raw = ramp(5, {1});
  EXPECT_EQ(Subset(raw, 3).size(), 3);
  EXPECT_EQ(Subset(raw, 9).size(), 5);
  EXPECT_THROW(Subset(raw, 0), UserError);
}

}  // namespace
}  // namespace plait::data
