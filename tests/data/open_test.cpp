// Data by name, from folders of small files: splits, normalisation, limits, and messages for what
// is missing.
#include "data/open.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/normalise.hpp"
#include "data/test_files.hpp"

namespace plait::data {
namespace {

using test::npy_dict;
using test::npy_file;
using test::user_error_of;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

std::string message(const std::string& spec, const DataOptions& options = {}) {
  return user_error_of([&] { open_data(spec, options); });
}

void write_mnist(const test::DataFolder& dir) {
  dir.write("train-images-idx3-ubyte", test::idx_file({20, 4, 4}, 0, 251));
  dir.write("train-labels-idx1-ubyte", test::idx_file({20}, 0, 10));
  dir.write("t10k-images-idx3-ubyte.gz", test::gzip(test::idx_file({6, 4, 4}, 3, 251)));
  dir.write("t10k-labels-idx1-ubyte.gz", test::gzip(test::idx_file({6}, 0, 10)));
}

TEST(OpenData, UnknownKindIsAnsweredWithTheNearestAndAll) {
  EXPECT_THAT(message("cifar1:x"),
              AllOf(HasSubstr("did you mean 'cifar10'"), HasSubstr("npy:DIR")));
  EXPECT_THAT(message("qqqqqqqqq"), AllOf(Not(HasSubstr("did you mean")), HasSubstr("mnist:DIR")));
  EXPECT_THAT(message("mnist"), HasSubstr("mnist:DIR"));
  EXPECT_THAT(message("glyphs:x"), HasSubstr("no folder"));
}

TEST(OpenData, MissingFoldersAndFilesSayHowToGetThem) {
  EXPECT_THAT(message("mnist:no/such/folder"),
              AllOf(HasSubstr("no/such/folder"), HasSubstr("plait data fetch mnist")));
  const test::DataFolder dir;
  EXPECT_THAT(message("mnist:" + dir.str()),
              AllOf(HasSubstr("train-images-idx3-ubyte"), HasSubstr("plait data fetch mnist")));
  EXPECT_THAT(message("cifar10:" + dir.str()), HasSubstr("cifar-10-binary.tar.gz"));
  EXPECT_THAT(message("cifar100:" + dir.str()), HasSubstr("cifar-100-binary.tar.gz"));
  EXPECT_THAT(message("npy:" + dir.str()), HasSubstr("train_x.npy"));
}

TEST(OpenData, ReadsMnistNormalisedByTheTrainingSplit) {
  const test::DataFolder dir;
  write_mnist(dir);
  const Splits splits = open_data("mnist:" + dir.str());
  EXPECT_EQ(splits.train->size(), 20);
  EXPECT_EQ(splits.test->size(), 6);
  const ChannelStatistics train = measure_channels(*splits.train);
  EXPECT_NEAR(train.mean[0], 0, 1e-5);
  EXPECT_NEAR(train.deviation[0], 1, 1e-5);
  EXPECT_GT(std::abs(measure_channels(*splits.test).mean[0]), 0.1);
  const Splits raw = open_data("fashion-mnist:" + dir.str(), {.normalise = false});
  EXPECT_GE(measure_channels(*raw.train).mean[0], 0.1);
}

TEST(OpenData, LimitsAndAugmentsTheTrainingSplitOnly) {
  const test::DataFolder dir;
  write_mnist(dir);
  const Splits splits = open_data(
      "mnist:" + dir.str(),
      {.train_limit = 7, .test_limit = 100, .augmentation = {.pad_crop = 1, .flip = true}});
  EXPECT_EQ(splits.train->size(), 7);
  EXPECT_EQ(splits.test->size(), 6);
  const auto varies = [](const Dataset& dataset) {
    std::vector<float> first(16);
    std::vector<float> other(16);
    float target = 0;
    for (std::uint64_t epoch = 1; epoch < 20; ++epoch) {
      dataset.get(0, 0, {first, {&target, 1}});
      dataset.get(0, epoch, {other, {&target, 1}});
      if (first != other) return true;
    }
    return false;
  };
  EXPECT_TRUE(varies(*splits.train));
  EXPECT_FALSE(varies(*splits.test));
  EXPECT_THAT(message("glyphs", {.train_limit = -1}), HasSubstr("-1"));
  EXPECT_THAT(message("glyphs", {.train_limit = 5, .augmentation = {.pad_crop = 28}}),
              HasSubstr("1 to 27"));
}

TEST(OpenData, ReadsCifar) {
  const test::DataFolder dir;
  dir.write("data_batch_1.bin", test::cifar_file(12, 1, 10));
  dir.write("test_batch.bin", test::cifar_file(5, 1, 10));
  dir.write("train.bin", test::cifar_file(11, 2, 100));
  dir.write("test.bin", test::cifar_file(4, 2, 100));
  const Splits ten = open_data("cifar10:" + dir.str());
  EXPECT_EQ(ten.train->size(), 12);
  EXPECT_EQ(ten.train->sample_shape(), (tensor::Shape{3, 32, 32}));
  const Splits hundred = open_data("cifar100:" + dir.str());
  EXPECT_EQ(hundred.test->size(), 4);
  EXPECT_EQ(hundred.test->classes(), 100);
}

TEST(OpenData, NpySplitsMustAgree) {
  const test::DataFolder dir;
  dir.write("train_x.npy", npy_file<float>(npy_dict("<f4", "(3, 2)"), {1, 2, 3, 4, 5, 7}));
  dir.write("train_y.npy", npy_file<int>(npy_dict("<i4", "(3,)"), {0, 1, 2}));
  dir.write("test_x.npy", npy_file<float>(npy_dict("<f4", "(1, 2)"), {1, 2}));
  dir.write("test_y.npy", npy_file<int>(npy_dict("<i4", "(1,)"), {6}));
  const Splits splits = open_data("npy:" + dir.str());
  EXPECT_EQ(splits.train->classes(), 7);
  EXPECT_EQ(splits.train->sample_shape(), (tensor::Shape{2}));
  dir.write("test_y.npy", npy_file<float>(npy_dict("<f4", "(1,)"), {6}));
  EXPECT_THAT(message("npy:" + dir.str()), HasSubstr("train_y.npy and test_y.npy"));
  dir.write("test_y.npy", npy_file<int>(npy_dict("<i4", "(1,)"), {6}));
  dir.write("test_x.npy", npy_file<float>(npy_dict("<f4", "(1, 3)"), {1, 2, 3}));
  EXPECT_THAT(message("npy:" + dir.str()), HasSubstr("must agree"));
}

TEST(OpenData, FlattenedBytesShareOneScale) {
  const test::DataFolder dir;
  dir.write("train_x.npy", npy_file<std::uint8_t>(npy_dict("|u1", "(2, 2)"), {0, 255, 0, 255}));
  dir.write("train_y.npy", npy_file<int>(npy_dict("<i4", "(2,)"), {0, 1}));
  dir.write("test_x.npy", npy_file<std::uint8_t>(npy_dict("|u1", "(1, 2)"), {0, 255}));
  dir.write("test_y.npy", npy_file<int>(npy_dict("<i4", "(1,)"), {0}));
  const Splits splits = open_data("npy:" + dir.str());
  std::vector<float> image(2);
  float target = 0;
  splits.test->get(0, 0, {image, {&target, 1}});
  EXPECT_FLOAT_EQ(image[0], -1);
  EXPECT_FLOAT_EQ(image[1], 1);
}

TEST(OpenData, ReadsTheRealSubsetWhenItIsThere) {
  const std::filesystem::path dir =
      std::filesystem::path(PLAIT_SOURCE_DIR) / "../shared/data/cifar10-subset";
  if (!std::filesystem::exists(dir)) GTEST_SKIP() << "skipped: data not there";
  const Splits splits = open_data("cifar10:" + dir.string());
  EXPECT_EQ(splits.train->size(), 5085);
  EXPECT_EQ(splits.test->size(), 1017);
}

TEST(DataKinds, EachIsOpenedByItsName) {
  for (const DataKind& kind : data_kinds()) {
    EXPECT_FALSE(kind.description.empty());
    EXPECT_TRUE(kind.usage.starts_with(kind.name));
    if (kind.name == "glyphs" || kind.name == "shapes") continue;
    EXPECT_THAT(message(kind.name + ":no/folder"), HasSubstr(kind.how_to_get));
  }
}

TEST(Augmentation, WordsAreReadAndWritten) {
  EXPECT_EQ(parse_augmentation("pad-crop 4, flip"), (Augmentation{.pad_crop = 4, .flip = true}));
  EXPECT_EQ(parse_augmentation("flip,pad-crop:2"), (Augmentation{.pad_crop = 2, .flip = true}));
  EXPECT_EQ(parse_augmentation(" "), Augmentation{});
  for (const Augmentation& a :
       {Augmentation{}, Augmentation{.pad_crop = 3}, Augmentation{.flip = true}}) {
    EXPECT_EQ(parse_augmentation(to_string(a)), a);
  }
  EXPECT_THAT(user_error_of([] { parse_augmentation("flop"); }), HasSubstr("did you mean 'flip'"));
  for (const char* bad :
       {"pad-crop", "pad-crop x", "pad-crop 0", "flip 2", "flip,,flip", "pad-crop 4x"}) {
    EXPECT_THROW(parse_augmentation(bad), UserError) << bad;
  }
}

}  // namespace
}  // namespace plait::data
