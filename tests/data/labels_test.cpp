// More classes than occur, and the label that is too large.
#include "data/labels.hpp"

#include <gtest/gtest.h>

#include "data/memory.hpp"
#include "data/select.hpp"

namespace plait::data {
namespace {

DatasetPtr with_labels(const tensor::Shape& target, const std::vector<float>& labels) {
  const auto samples =
      static_cast<std::size_t>(static_cast<std::int64_t>(labels.size()) / target.elements());
  return std::make_shared<MemoryDataset>(MemoryData{.sample_shape = {2, 1, 2},
                                                    .images = std::vector<float>(4 * samples, 1),
                                                    .target_shape = target,
                                                    .targets = labels,
                                                    .classes = 10});
}

TEST(Labels, TheFirstThatIsTooLargeIsFound) {
  const DatasetPtr plain = with_labels({1}, {0, 3, 9, 2, 7});
  const auto found = find_label_from(*plain, 7);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->sample, 2);
  EXPECT_EQ(found->label, 9);
  EXPECT_TRUE(find_label_from(*plain, 9));
  EXPECT_FALSE(find_label_from(*plain, 10));
  EXPECT_FALSE(find_label_from(Subset(plain, 2), 7));
  const auto pixel = find_label_from(*with_labels({1, 2}, {0, 1, -1, 5, 1, 1}), 4);
  ASSERT_TRUE(pixel);
  EXPECT_EQ(pixel->sample, 1);
  EXPECT_EQ(pixel->label, 5);
}

TEST(Labels, OfAFileAreCalledByItsName) {
  EXPECT_EQ(place_of_labels("npy:some/where", "train"), "some/where/train_y.npy");
  EXPECT_EQ(place_of_labels("mnist:dir", "test"), "data 'mnist:dir', test");
}

TEST(Labels, MoreClassesChangeNothingElse) {
  const DatasetPtr plain = with_labels({1}, {0, 3, 9});
  const MoreClasses more(plain, 12);
  EXPECT_EQ(more.classes(), 12);
  EXPECT_EQ(more.size(), 3);
  EXPECT_EQ(more.target_shape(), plain->target_shape());
}

}  // namespace
}  // namespace plait::data
