// Images of files: decoded as they are, cut and scaled as PIL does, arranged by folders; the same
// bits from a folder or an archive, held or streamed, with any number of threads.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/batch.hpp"
#include "data/image_files.hpp"
#include "data/images/decode.hpp"
#include "data/images/image_dataset.hpp"
#include "data/images/open_images.hpp"
#include "data/test_files.hpp"

namespace plait::data {
namespace {

using test::Compression;
using test::jpeg_of;
using test::noise_image;
using test::png_of;
using test::two_classes;
using test::user_error_of;
using test::write_files;
using test::write_tar;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Decode, PngIsExactAndAlphaLiesOnBlack) {
  const Pixels image = noise_image(5, 7, 1);
  EXPECT_EQ(decode_image(png_of(image), "a", 3).values, image.values);
  const Pixels grey = noise_image(5, 7, 2, 1);
  EXPECT_EQ(decode_image(png_of(grey), "a", 1).values, grey.values);
  const Pixels clear{
      .height = 1, .width = 2, .channels = 4, .values = {255, 9, 7, 0, 10, 20, 30, 255}};
  EXPECT_THAT(decode_image(png_of(clear), "a", 3).values, ElementsAre(0, 0, 0, 10, 20, 30));
}

TEST(Decode, JpegIsCloseAndGreyIsLuma) {
  Pixels image{.height = 16, .width = 16};
  for (int i = 0; i < 256; ++i) image.values.insert(image.values.end(), {200, 100, 50});
  for (const Bytes& file : {jpeg_of(image), png_of(image)}) {
    const Pixels colour = decode_image(file, "a", 3);
    const Pixels grey = decode_image(file, "a", 1);
    EXPECT_EQ(grey.values.size(), 256U);
    for (std::size_t i = 0; i < 256; ++i) {
      EXPECT_NEAR(colour.values[3 * i], 200, 2);
      EXPECT_NEAR(colour.values[3 * i + 2], 50, 2);
      EXPECT_NEAR(grey.values[i], 0.299 * 200 + 0.587 * 100 + 0.114 * 50, 2);
    }
  }
}

TEST(Decode, EveryTruncationIsRefusedWithItsName) {
  for (const Bytes& file : {jpeg_of(noise_image(16, 16, 3)), png_of(noise_image(6, 6, 3))}) {
    // The last bytes are a marker that no pixel needs.
    for (std::size_t size = 0; size + 16 < file.size(); size += 7) {
      const std::string message =
          user_error_of([&] { decode_image(ByteView(file).first(size), "x/cat.jpg", 3); });
      EXPECT_THAT(message, HasSubstr("x/cat.jpg: ")) << size << " of " << file.size();
    }
  }
}

/// Recorded with PIL's resize(size, BILINEAR, box), which rounds between its two passes.
TEST(Resample, IsPils) {
  Pixels image{.height = 7, .width = 9, .channels = 1};
  for (int i = 0; i < 63; ++i) image.values.push_back(static_cast<std::uint8_t>(i * 37 % 251));
  struct Recorded {
    Box box;
    ImageSize size;
    std::vector<int> values;
  };
  const std::vector<Recorded> all{
      {{0, 0, 7, 9}, {3, 4}, {101, 138, 119, 102, 138, 124, 122, 104, 145, 114, 123, 152}},
      {{0.25, 1.5, 6.25, 6.75}, {5, 5}, {94,  146, 154, 134, 66,  187, 119, 103, 90,
                                         141, 99,  104, 138, 166, 76,  149, 153, 122,
                                         68,  103, 146, 78,  106, 153, 182}}};
  for (const Recorded& one : all) {
    Bytes out(one.values.size());
    resample(image, one.box, one.size, out);
    for (std::size_t i = 0; i < out.size(); ++i) EXPECT_NEAR(out[i], one.values[i], 1) << i;
  }
}

TEST(Resample, TheMiddleInItsOwnSizeIsCopied) {
  const Pixels image = noise_image(6, 9, 4);
  Bytes out(3 * 4 * 4);
  const Box box = middle_box(image, {4, 4}, 6);
  EXPECT_EQ(box.top, 1);
  EXPECT_EQ(box.left, 2);
  resample(image, box, {4, 4}, out);
  for (int c = 0; c < 3; ++c) {
    for (int y = 0; y < 4; ++y) {
      for (int x = 0; x < 4; ++x) {
        EXPECT_EQ(out[static_cast<std::size_t>((c * 4 + y) * 4 + x)],
                  image.row(y + 1)[(x + 2) * 3 + c]);
      }
    }
  }
}

TEST(Resample, RandomBoxesLieInsideAndKeepTheirArea) {
  const Pixels image = noise_image(40, 60, 5);
  for (std::uint64_t i = 0; i < 500; ++i) {
    Rng rng(1, Purpose::augment, 0, i);
    const Box box = random_box(image, 0.25, rng);
    EXPECT_GE(box.top, 0);
    EXPECT_GE(box.left, 0);
    EXPECT_LE(box.top + box.height, 40);
    EXPECT_LE(box.left + box.width, 60);
    EXPECT_GE(box.height * box.width, 0.2 * 40 * 60);
    EXPECT_LE(std::abs(std::log(box.width / box.height)), std::log(4.0 / 3) + 0.1);
  }
}

TEST(Arrange, FoldersDecide) {
  const auto shown = [](const std::vector<std::string>& names) {
    const ImageSplits splits = arrange_images(names, "here");
    std::string text;
    for (const std::string& name : splits.classes) text += name + " ";
    std::vector<LabelledImage> train = splits.train;
    std::ranges::sort(train, {}, &LabelledImage::number);
    for (const auto& [number, label] : train) text += fmt::format("{}:{} ", number, label);
    text += "|";
    for (const auto& [number, label] : splits.test) text += fmt::format(" {}:{}", number, label);
    return text;
  };
  EXPECT_EQ(shown({"test/b/1.png", "train/a/1.png", "train/b/2.png"}), "a b 1:0 2:1 | 0:1");
  EXPECT_EQ(shown({"x/y/train/a/1.png", "x/y/train/b/deep/2.png", "x/y/val/b/1.png"}),
            "a b 0:0 1:1 | 2:1");
  // Without train/ and test/: a tenth by name, whatever lies beside it.
  std::vector<std::string> names;
  for (int i = 0; i < 200; ++i)
    names.push_back(fmt::format("{}/{:03}.jpg", i % 2 == 0 ? "a" : "b", i));
  std::ranges::sort(names);
  const ImageSplits all = arrange_images(names, "here");
  EXPECT_EQ(all.train.size() + all.test.size(), 200U);
  EXPECT_NEAR(static_cast<double>(all.test.size()), 20, 12);
  const std::string first_test = names[all.test.front().number];
  names.erase(names.begin() + 1);
  const ImageSplits fewer = arrange_images(names, "here");
  const bool kept = std::ranges::any_of(
      fewer.test, [&](const LabelledImage& one) { return names[one.number] == first_test; });
  EXPECT_TRUE(kept || first_test == "a/002.jpg");
}

TEST(Arrange, RefusesWhatIsNotArranged) {
  const auto message = [](const std::vector<std::string>& names) {
    return user_error_of([&] { arrange_images(names, "here"); });
  };
  EXPECT_THAT(message({"test/a/1.png", "test/b/1.png"}), HasSubstr("no train folder"));
  EXPECT_THAT(message({"test/a/1.png", "train/1.png"}), HasSubstr("train/1.png lies in no folder"));
  EXPECT_THAT(message({"test/c/1.png", "train/a/1.png", "train/b/1.png"}),
              HasSubstr("test/c/1.png is of a class without training images"));
  EXPECT_THAT(message({"test/a/1.png", "train/a/1.png"}), HasSubstr("1 class(es)"));
}

/// Images, then targets, of two epochs.
std::vector<float> samples_of(const DatasetPtr& dataset, int threads) {
  const BatchStream stream(dataset, {.batch = 4, .drop_last = false, .threads = threads});
  std::vector<float> all;
  for (std::uint64_t epoch = 0; epoch < 2; ++epoch) {
    for (std::int64_t index = 0; index < stream.batches_per_epoch(); ++index) {
      const Batch batch = stream.load(epoch, index);
      const auto images = batch.images.floats();
      const auto targets = batch.targets.floats();
      all.insert(all.end(), images.begin(), images.end());
      all.insert(all.end(), targets.begin(), targets.end());
    }
  }
  return all;
}

class Images : public ::testing::Test {
 protected:
  std::filesystem::path path(const std::string& name) const { return folder_.path() / name; }
  OpenedImages open(const std::string& name, const ImageFileOptions& images = {},
                    const Augmentation& augmentation = {}) const {
    return open_images(path(name), {.augmentation = augmentation, .images = images});
  }
  std::string refused(const std::string& name, const ImageFileOptions& images = {}) const {
    return user_error_of([&] { open(name, images); });
  }

  TempFolder folder_;
};

TEST_F(Images, HaveLabelsAndPixelsOfTheirFiles) {
  auto files = two_classes(4, 6);
  write_files(path("set"), files);
  const OpenedImages opened = open("set");
  EXPECT_THAT(opened.classes, ElementsAre("cat", "dog"));
  EXPECT_EQ(opened.train->size(), 12);
  EXPECT_EQ(opened.test->size(), 4);
  EXPECT_EQ(opened.train->sample_shape(), (tensor::Shape{3, 4, 6}));
  EXPECT_EQ(opened.train->classes(), 2);
  EXPECT_FALSE(opened.train->is_slow());
  std::vector<float> image(72);
  float target = -1;
  const Pixels dog = decode_image(files["train/dog/0.png"], "", 3);
  std::vector<float> wanted;
  for (int c = 0; c < 3; ++c) {
    for (int pixel = 0; pixel < 24; ++pixel) {
      wanted.push_back(static_cast<float>(dog.row(0)[pixel * 3 + c]) * (1.0F / 255.0F));
    }
  }
  int found = 0;
  int dogs_among_the_first = 0;
  for (std::int64_t i = 0; i < 12; ++i) {
    opened.train->get(i, 0, {image, {&target, 1}});
    if (i < 6 && target == 1) ++dogs_among_the_first;
    if (image != wanted) continue;
    ++found;
    EXPECT_EQ(target, 1);
  }
  EXPECT_EQ(found, 1);
  EXPECT_NEAR(dogs_among_the_first, 3, 2);
}

TEST_F(Images, HaveTheSameBitsFromEverywhere) {
  const auto files = two_classes(20, 24, 15);
  write_files(path("set"), files);
  write_tar(path("set.tar"), files, Compression::none);
  write_tar(path("set.tar.gz"), files, Compression::gzip);
  write_tar(path("set.tar.zst"), files, Compression::zstd);
  for (const double crop : {0.0, 0.3}) {
    const Augmentation augmentation{.resized_crop = crop};
    const OpenedImages held = open("set", {.size = "16"}, augmentation);
    const std::vector<float> all = samples_of(held.train, 1);
    const std::vector<float> test = samples_of(held.test, 1);
    for (const char* name : {"set", "set.tar", "set.tar.gz", "set.tar.zst"}) {
      for (const int threads : {1, 4}) {
        for (const bool ahead : {true, false}) {
          const ImageFileOptions options{.size = "16", .decode_ahead = ahead, .threads = threads};
          const OpenedImages opened = open(name, options, augmentation);
          EXPECT_EQ(opened.train->is_slow(), !ahead);
          EXPECT_EQ(samples_of(opened.train, threads), all) << name << threads << ahead << crop;
          EXPECT_EQ(samples_of(opened.test, threads), test) << name << threads << ahead << crop;
        }
      }
    }
    // Some held, others not.
    const OpenedImages some = open("set", {.size = "16", .memory = 12000}, augmentation);
    EXPECT_TRUE(some.train->is_slow());
    EXPECT_EQ(samples_of(some.train, 2), all);
  }
}

TEST_F(Images, RandomCropsDifferByEpochAndSeedOnly) {
  write_files(path("set"), two_classes(20, 24, 15));
  const OpenedImages opened = open("set", {.size = "16"}, {.resized_crop = 0.2});
  std::vector<float> first(768);
  std::vector<float> again(768);
  std::vector<float> later(768);
  float target = 0;
  opened.train->get(3, 0, {first, {&target, 1}});
  opened.train->get(3, 1, {later, {&target, 1}});
  opened.train->get(3, 0, {again, {&target, 1}});
  EXPECT_EQ(first, again);
  EXPECT_NE(first, later);
  const auto seeded = open_images(
      path("set"), {.seed = 2, .augmentation = {.resized_crop = 0.2}, .images = {.size = "16"}});
  seeded.train->get(3, 0, {again, {&target, 1}});
  EXPECT_NE(first, again);
}

TEST_F(Images, BrokenOnesAreNamedOrLeftOut) {
  auto files = two_classes(8, 8, 9);
  Bytes& jpeg = files["train/dog/1.jpg"];
  jpeg.resize(jpeg.size() - 30);
  files["test/cat/0.png"] = {'n', 'o'};
  write_files(path("set"), files);
  EXPECT_THAT(refused("set"), HasSubstr("train/dog/1.jpg: damaged JPEG image"));
  for (const bool ahead : {true, false}) {
    const OpenedImages opened = open("set", {.skip_broken = true, .decode_ahead = ahead});
    EXPECT_EQ(opened.train->size(), 17);
    EXPECT_EQ(opened.test->size(), 5);
    EXPECT_THAT(opened.notes,
                ElementsAre(AllOf(HasSubstr("1 training image(s) left out: "),
                                  HasSubstr("train/dog/1.jpg: damaged JPEG image")),
                            HasSubstr("test/cat/0.png: neither a JPEG nor a PNG image")));
    const std::vector<float> all = samples_of(opened.train, 2);
    EXPECT_EQ(std::ranges::count(all, -1.0F), 0);
  }
  // Streamed without a look at all of them: the error comes with the sample.
  const OpenedImages streamed = open("set", {.decode_ahead = false});
  EXPECT_THAT(user_error_of([&] { samples_of(streamed.train, 4); }), HasSubstr("train/dog/1.jpg"));
}

TEST_F(Images, OfSeveralSizesNeedOne) {
  auto files = two_classes(8, 8);
  files["train/cat/9.png"] = png_of(noise_image(8, 10, 3));
  write_files(path("set"), files);
  EXPECT_THAT(refused("set"), AllOf(HasSubstr("train/cat/9.png: 10 x 8 pixels, others 8 x 8"),
                                    HasSubstr("`image_size`")));
  EXPECT_EQ(open("set", {.size = "12x6"}).train->sample_shape(), (tensor::Shape{3, 6, 12}));
  EXPECT_EQ(open("set", {.size = "6", .shorter = 7, .grey = true}).test->sample_shape(),
            (tensor::Shape{1, 6, 6}));
  EXPECT_THAT(refused("set", {.size = "0"}), HasSubstr("`image_size` 0 is no size"));
  EXPECT_THAT(refused("set", {.size = "8x"}), HasSubstr("`image_size` 8x is no size"));
  EXPECT_THAT(refused("set", {.size = "8", .shorter = 7}), HasSubstr("`image_resize` 7 is less"));
  EXPECT_THAT(refused("set", {.shorter = 7}), HasSubstr("needs `image_size`"));
}

TEST_F(Images, ArchivesThatCannotBeRead) {
  const auto files = two_classes(16, 16);
  write_tar(path("set.tar.zst"), files, Compression::zstd);
  const std::string whole = read_text(path("set.tar.zst"));
  for (const std::size_t size : {whole.size() / 2, whole.size() / 3}) {
    write_text(path("cut.tar.zst"), whole.substr(0, size));
    EXPECT_THAT(refused("cut.tar.zst"), HasSubstr("cut.tar.zst"));
  }
  write_text(path("text.tar"), "nothing of the kind");
  EXPECT_THAT(refused("text.tar"), HasSubstr("text.tar: not a readable tar archive"));
  EXPECT_THAT(refused("set.tar.zst", {.memory = 1000}), HasSubstr("more than `data_memory`"));
  write_tar(path("none.tar"), {{"readme.txt", {'a'}}}, Compression::none);
  EXPECT_THAT(refused("none.tar"), HasSubstr("no .jpg, .jpeg or .png in it"));
  std::filesystem::create_directories(path("empty"));
  EXPECT_THAT(refused("empty"), HasSubstr("no .jpg, .jpeg or .png below it"));
}

TEST_F(Images, AreOpenedByTheirKind) {
  write_files(path("set"), two_classes(8, 8, 9));
  const std::string spec = "images:" + path("set").string();
  const Splits splits = open_data(spec, {.train_limit = 10, .augmentation = {.pad_crop = 1}});
  EXPECT_EQ(splits.train->size(), 10);
  EXPECT_EQ(splits.statistics.mean.size(), 3U);
  EXPECT_THAT(splits.classes, ElementsAre("cat", "dog"));
  EXPECT_THAT(user_error_of([&] { open_data("images:" + path("gone").string()); }),
              HasSubstr("there is no folder"));
  EXPECT_THAT(user_error_of([&] { open_data("glyphs", {.augmentation = {.resized_crop = 0.5}}); }),
              HasSubstr("random-resized-crop is for images of files"));
}

TEST(Augmentation, RandomResizedCrop) {
  EXPECT_EQ(parse_augmentation("random-resized-crop").resized_crop, 0.08);
  EXPECT_EQ(parse_augmentation("flip, random-resized-crop 0.25").resized_crop, 0.25);
  EXPECT_EQ(to_string(parse_augmentation("flip, random-resized-crop:0.25")),
            "flip, random-resized-crop 0.25");
  for (const char* bad :
       {"random-resized-crop 0", "random-resized-crop 2", "random-resized-crop x"}) {
    EXPECT_THAT(user_error_of([&] { parse_augmentation(bad); }),
                HasSubstr("least part of the area"));
  }
}

}  // namespace
}  // namespace plait::data
