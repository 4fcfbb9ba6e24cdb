// BatchRing: as many minibatches as a program has in flight, and the parts that its tasks see.
#include "run/batch_ring.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.hpp"
#include "plan/hand_made.hpp"

namespace plait::run {
namespace {

/// Batches of `samples` samples of two numbers: 10 * batch + sample, and the negative of it.
class Source {
 public:
  explicit Source(std::int64_t samples) : samples_(samples) {}
  void operator()(data::Batch& batch) {
    batch.images = tensor::Tensor(tensor::Shape{samples_, 2});
    batch.targets = tensor::Tensor(tensor::Shape{samples_, 1});
    for (std::int64_t i = 0; i < samples_; ++i) {
      const auto value = static_cast<float>(10 * next_ + i);
      const auto at = static_cast<std::size_t>(i);
      batch.images.floats()[2 * at] = value;
      batch.images.floats()[2 * at + 1] = -value;
      batch.targets.floats()[at] = value;
    }
    ++next_;
  }

 private:
  std::int64_t samples_;
  std::int64_t next_ = 0;
};

TEST(BatchRing, KeepsTheMinibatchesInFlight) {
  const Source source(8);
  EXPECT_EQ(BatchRing(plan::hand_made::serial(), 0, source).size(), 1);
  EXPECT_EQ(BatchRing(plan::hand_made::synchronous_pipeline(), 0, source).size(), 1);
  // The weight gradient of conv1 reads the images two steps after they were loaded.
  EXPECT_EQ(BatchRing(plan::hand_made::asynchronous_pipeline(), 0, source).size(), 3);
  EXPECT_EQ(BatchRing(plan::hand_made::asynchronous_pipeline(), 1, source).size(), 1);
}

TEST(BatchRing, HasOldMinibatchesUntilTheirPlaceIsNeeded) {
  BatchRing ring(plan::hand_made::asynchronous_pipeline(), 0, Source(8));
  for (std::int64_t minibatch = 0; minibatch < 5; ++minibatch) {
    EXPECT_FALSE(ring.has(minibatch));
    ring.fetch(minibatch, 8);
    EXPECT_TRUE(ring.has(minibatch));
    for (std::int64_t old = std::max<std::int64_t>(0, minibatch - 2); old <= minibatch; ++old) {
      EXPECT_EQ(ring.at(old).targets.floats()[0], static_cast<float>(10 * old));
    }
  }
}

TEST(BatchRing, GivesATaskItsPartOfTheWorkersShare) {
  plan::Plan plan = plan::hand_made::serial(4);
  for (plan::Task& task :
       plan.programs[0].tasks) {  // the second half of the minibatch, in two parts
    if (plan::takes_samples(task) && plan::samples_of(task).begin < 2)
      plan::set_samples(task, plan::part_of(2, 4));
  }
  BatchRing ring(plan, 0, Source(4));
  EXPECT_FALSE(ring.read_in_place());
  EXPECT_EQ(ring.share(), (plan::Samples{2, 4, 4}));
  ring.fetch(0, 8);
  const std::span<const std::byte> bytes = ring.images(0, plan::part_of(3, 4), 8);
  const std::span images(reinterpret_cast<const float*>(bytes.data()),
                         bytes.size() / sizeof(float));
  EXPECT_EQ(std::vector<float>(images.begin(), images.end()), (std::vector<float>{2, -2, 3, -3}));
  const std::span<const float> targets = ring.targets(0, plan::part_of(2, 4), 8);
  EXPECT_EQ(std::vector<float>(targets.begin(), targets.end()), (std::vector<float>{0, 1}));
}

TEST(BatchRing, ReadsInPlaceWhereOneTaskLoads) {
  EXPECT_TRUE(BatchRing(plan::hand_made::serial(), 0, Source(8)).read_in_place());
  EXPECT_EQ(BatchRing(plan::hand_made::lent_backward(), 1, Source(8)).share().count(8), 0);
}

TEST(BatchRing, RefusesAnotherNumberOfSamples) {
  BatchRing ring(plan::hand_made::serial(), 0, Source(7));
  EXPECT_THROW(ring.fetch(0, 8), Failure);
}

}  // namespace
}  // namespace plait::run
