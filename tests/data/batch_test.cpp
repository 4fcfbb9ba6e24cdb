// Batches and prefetching: which samples come when, the same bits on every call, exceptions in
// their place.
#include "data/batch.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <numeric>
#include <set>
#include <thread>

#include "base/error.hpp"
#include "data/augment.hpp"
#include "data/memory.hpp"
#include "data/normalise.hpp"
#include "data/prefetch.hpp"

namespace plait::data {
namespace {

DatasetPtr numbered(std::int64_t count) {
  std::vector<float> images;
  std::vector<float> targets;
  for (std::int64_t n = 0; n < count; ++n) {
    images.insert(images.end(), {static_cast<float>(n), static_cast<float>(-n)});
    targets.push_back(static_cast<float>(n));
  }
  return std::make_shared<MemoryDataset>(
      MemoryData{.sample_shape = {2}, .images = images, .target_shape = {1}, .targets = targets});
}

std::vector<float> values(const tensor::Tensor& tensor) {
  return {tensor.floats().begin(), tensor.floats().end()};
}

TEST(BatchStream, AnEpochHoldsEverySampleOnce) {
  const BatchStream stream(numbered(10), {.batch = 4, .drop_last = false});
  ASSERT_EQ(stream.batches_per_epoch(), 3);
  std::multiset<float> seen;
  for (std::int64_t i = 0; i < 3; ++i) {
    const Batch batch = stream.load(5, i);
    EXPECT_EQ(batch.images.shape(), (tensor::Shape{i < 2 ? 4 : 2, 2}));
    EXPECT_EQ(batch.targets.shape(), (tensor::Shape{i < 2 ? 4 : 2, 1}));
    EXPECT_EQ(batch.epoch, 5U);
    EXPECT_EQ(batch.index, i);
    for (std::int64_t n = 0; n < batch.size(); ++n) {
      const auto at = static_cast<std::size_t>(n);
      const float target = batch.targets.floats()[at];
      EXPECT_EQ(batch.images.floats()[2 * at + 1], -target);
      seen.insert(target);
    }
  }
  EXPECT_EQ(seen.size(), 10U);
  EXPECT_EQ(std::set<float>(seen.begin(), seen.end()).size(), 10U);
}

TEST(BatchStream, OrderDependsOnSeedAndEpochOnly) {
  const BatchStream stream(numbered(100), {.batch = 10, .seed = 3});
  const auto order = stream.order(4);
  EXPECT_EQ(order, stream.order(4));
  EXPECT_NE(order, stream.order(5));
  EXPECT_NE(order, BatchStream(numbered(100), {.batch = 10, .seed = 4}).order(4));
  // The batch size cuts the order, it does not change it.
  EXPECT_EQ(order, BatchStream(numbered(100), {.batch = 7, .seed = 3}).order(4));
  EXPECT_EQ(stream.load(4, 2).targets.floats()[3], static_cast<float>(order[23]));
}

TEST(BatchStream, ShuffleIsUniform) {
  const BatchStream stream(numbered(4), {.batch = 1});
  int counts[4][4] = {};
  for (std::uint64_t epoch = 0; epoch < 4000; ++epoch) {
    const auto order = stream.order(epoch);
    for (std::size_t i = 0; i < 4; ++i) ++counts[i][order[i]];
  }
  for (const auto& row : counts) {
    for (const int count : row) EXPECT_NEAR(count, 1000, 140);
  }
}

TEST(BatchStream, WithoutShuffleInOrderAndDropLast) {
  const BatchStream stream(numbered(10), {.batch = 4, .shuffle = false});
  EXPECT_EQ(stream.batches_per_epoch(), 2);
  EXPECT_EQ(values(stream.load(3, 1).targets), (std::vector<float>{4, 5, 6, 7}));
  EXPECT_THROW(stream.load(0, 2), Failure);
  EXPECT_THROW(BatchStream(numbered(10), {.batch = 11}), UserError);
  EXPECT_THROW(BatchStream(numbered(10), {.batch = 0}), UserError);
}

TEST(BatchStream, LoadIntoReusesFittingMemory) {
  const BatchStream stream(numbered(10), {.batch = 4, .drop_last = false});
  Batch batch = stream.load(0, 0);
  const auto* memory = batch.images.data();
  stream.load_into(0, 1, batch);
  EXPECT_EQ(batch.images.data(), memory);
  EXPECT_EQ(values(batch.images), values(stream.load(0, 1).images));
  stream.load_into(0, 2, batch);
  EXPECT_EQ(batch.size(), 2);
}

TEST(Prefetch, GivesTheSequenceOfTheStreamAcrossEpochs) {
  const auto stream =
      std::make_shared<BatchStream>(numbered(10), BatchOptions{.batch = 3, .drop_last = false});
  for (const std::size_t depth : {1, 2, 5}) {
    Prefetch prefetch(stream, {.epoch = 2, .index = 3, .depth = depth});
    std::uint64_t epoch = 2;
    std::int64_t index = 3;
    Batch batch;
    for (int step = 0; step < 30; ++step) {
      prefetch.next(batch);
      ASSERT_EQ(batch.epoch, epoch);
      ASSERT_EQ(batch.index, index);
      ASSERT_EQ(values(batch.images), values(stream->load(epoch, index).images));
      if (++index == 4) {
        index = 0;
        ++epoch;
      }
    }
  }
}

TEST(Prefetch, BatchesThatAreKeptStayAsTheyWere) {
  const auto stream = std::make_shared<BatchStream>(numbered(100), BatchOptions{.batch = 10});
  Prefetch prefetch(stream);
  std::vector<Batch> kept;
  for (int i = 0; i < 20; ++i) kept.push_back(prefetch.next());
  for (const Batch& batch : kept) {
    EXPECT_EQ(values(batch.images), values(stream->load(batch.epoch, batch.index).images));
  }
}

TEST(Prefetch, CirculatesAFewBuffers) {
  const auto stream = std::make_shared<BatchStream>(numbered(100), BatchOptions{.batch = 10});
  Prefetch prefetch(stream);
  std::set<const void*> buffers;
  Batch batch;
  for (int i = 0; i < 50; ++i) {
    prefetch.next(batch);
    buffers.insert(batch.images.data());
  }
  EXPECT_LE(buffers.size(), 4U);
}

/// Counts its samples and throws at one of them.
class Failing final : public Decorator {
 public:
  Failing(DatasetPtr inner, std::int64_t at) : Decorator(std::move(inner)), at_(at) {}
  void get(std::int64_t index, std::uint64_t epoch, Sample out) const override {
    ++loaded;
    if (index == at_) fail("sample {} is damaged", index);
    Decorator::get(index, epoch, out);
  }
  mutable std::atomic<int> loaded = 0;

 private:
  std::int64_t at_;
};

TEST(Prefetch, HandsExceptionsOverInTheirPlace) {
  const auto stream = std::make_shared<BatchStream>(std::make_shared<Failing>(numbered(10), 5),
                                                    BatchOptions{.batch = 2, .shuffle = false});
  Prefetch prefetch(stream);
  EXPECT_EQ(prefetch.next().index, 0);
  EXPECT_EQ(prefetch.next().index, 1);
  EXPECT_THROW(prefetch.next(), Failure);
  EXPECT_THROW(prefetch.next(), Failure);
}

TEST(Prefetch, LoadsNoMoreThanItsDepthAheadAndStops) {
  const auto counted = std::make_shared<Failing>(numbered(100), -1);
  const auto stream = std::make_shared<BatchStream>(counted, BatchOptions{.batch = 1});
  {
    Prefetch prefetch(stream, {.depth = 3});
    prefetch.next();
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    EXPECT_LE(counted->loaded, 4);
  }
  { const Prefetch unused(stream); }
  EXPECT_THROW(Prefetch(stream, {.index = 100}), Failure);
}

/// Nothing is loaded twice on the way through the decorators, and nothing that nobody wants.
TEST(BatchStream, AsksForEverySampleOnce) {
  const std::int64_t count = 200;
  const auto raw = std::make_shared<MemoryDataset>(
      MemoryData{.sample_shape = {3, 32, 32},
                 .images = std::vector<std::uint8_t>(static_cast<std::size_t>(count) * 3072, 9),
                 .targets = std::vector<float>(static_cast<std::size_t>(count)),
                 .classes = 10});
  const auto counted = std::make_shared<Failing>(raw, -1);
  const auto normal = std::make_shared<Normalise>(counted, measure_channels(*raw));
  const DatasetPtr flipped = std::make_shared<Flip>(std::make_shared<PadCrop>(normal, 4, 1), 1);
  for (const DatasetPtr& dataset : {DatasetPtr(normal), flipped}) {
    const BatchStream stream(dataset, {.batch = 10});
    counted->loaded = 0;
    Batch batch;
    for (std::int64_t i = 0; i < 20; ++i) stream.load_into(1, i, batch);
    EXPECT_EQ(counted->loaded, count);
  }
}

}  // namespace
}  // namespace plait::data
