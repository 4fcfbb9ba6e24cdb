// The readers: bytes and gzip, IDX, CIFAR. Right files give the right samples, damaged ones a
// UserError that names the file and the number.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/bytes.hpp"
#include "data/cifar.hpp"
#include "data/idx.hpp"
#include "data/test_files.hpp"

namespace plait::data {
namespace {

using test::user_error_of;
using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(Gunzip, ReturnsTheContentOfAllMembers) {
  Bytes content(200000);
  for (std::size_t i = 0; i < content.size(); ++i)
    content[i] = static_cast<std::uint8_t>(i * i / 7);
  Bytes packed = test::gzip(content);
  EXPECT_EQ(gunzip(packed, "f.gz"), content);
  const Bytes second = test::gzip({1, 2, 3});
  packed.insert(packed.end(), second.begin(), second.end());
  content.insert(content.end(), {1, 2, 3});
  EXPECT_EQ(gunzip(packed, "f.gz"), content);
}

TEST(Gunzip, LimitIsExact) {
  for (const std::size_t size : {1, 1000, 65536, 65537, 300000}) {
    const Bytes packed = test::gzip(Bytes(size, 7));
    EXPECT_EQ(gunzip(packed, "f.gz", size).size(), size);
    EXPECT_THAT(user_error_of([&] { gunzip(packed, "f.gz", size - 1); }),
                AllOf(HasSubstr("f.gz"), HasSubstr(std::to_string(size - 1))));
  }
}

TEST(Gunzip, RefusesDamage) {
  const Bytes packed = test::gzip(Bytes(5000, 42));
  for (std::size_t size = 0; size < packed.size(); ++size) {
    const Bytes cut(packed.begin(), packed.begin() + static_cast<std::ptrdiff_t>(size));
    EXPECT_THROW(gunzip(cut, "f.gz"), UserError) << size;
  }
  Bytes wrong_checksum = packed;
  wrong_checksum[packed.size() - 6] ^= 1;
  EXPECT_THROW(gunzip(wrong_checksum, "f.gz"), UserError);
  Bytes trailing = packed;
  trailing.push_back(0);
  EXPECT_THAT(user_error_of([&] { gunzip(trailing, "f.gz"); }), HasSubstr("1 bytes after the end"));
}

TEST(ReadFile, NamesWhatIsMissing) {
  const test::DataFolder dir;
  EXPECT_THAT(user_error_of([&] { read_file(dir.path() / "gone"); }),
              HasSubstr("gone: no such file"));
  EXPECT_THAT(user_error_of([&] { read_file(dir.path()); }), HasSubstr("not a regular file"));
  const auto path = dir.write("five", {1, 2, 3, 4, 5});
  EXPECT_EQ(read_file(path, 5).size(), 5U);
  EXPECT_THAT(user_error_of([&] { read_file(path, 4); }), HasSubstr("5 bytes"));
}

TEST(Idx, ParsesShapeAndValues) {
  const IdxArray array = parse_idx(test::idx_file({2, 3, 4}, 5, 256), "f");
  EXPECT_EQ(array.shape, (tensor::Shape{2, 3, 4}));
  EXPECT_EQ(array.values.size(), 24U);
  EXPECT_EQ(array.values[23], 28);
}

TEST(Idx, EveryTruncationAndExtensionIsRefused) {
  const Bytes file = test::idx_file({2, 3, 4}, 0, 256);
  for (std::size_t size = 0; size < file.size(); ++size) {
    EXPECT_THROW(parse_idx(ByteView(file).first(size), "f"), UserError) << size;
  }
  Bytes longer = file;
  longer.push_back(0);
  EXPECT_THAT(user_error_of([&] { parse_idx(longer, "some-file"); }),
              AllOf(HasSubstr("some-file"), HasSubstr("24"), HasSubstr("25")));
}

TEST(Idx, RefusesOverflowingExtentsAndOtherTypes) {
  Bytes file = test::idx_file({1, 1, 1, 1}, 0, 256);
  for (std::size_t i = 4; i < 20; ++i) file[i] = 0xFF;
  EXPECT_THROW(parse_idx(file, "f"), UserError);
  // 65536^4 is 0 modulo 2^64, which is just what a bare header holds.
  Bytes wrapping = test::idx_file({1, 1, 1, 1}, 0, 256);
  wrapping.pop_back();
  for (const std::size_t at : {4, 8, 12, 16}) {
    wrapping[at + 1] = 1;
    wrapping[at + 3] = 0;
  }
  EXPECT_THROW(parse_idx(wrapping, "f"), UserError);
  Bytes floats = test::idx_file({1}, 0, 256);
  floats[2] = 0x0D;
  EXPECT_THAT(user_error_of([&] { parse_idx(floats, "f"); }), HasSubstr("00 00 0d"));
  EXPECT_THROW(parse_idx(test::idx_file({1, 1, 1, 1, 1}, 0, 256), "f"), UserError);
}

TEST(Idx, PairBecomesADataset) {
  const test::DataFolder dir;
  dir.write("train-images-idx3-ubyte.gz", test::gzip(test::idx_file({3, 2, 2}, 0, 256)));
  dir.write("train-labels.idx1-ubyte", test::idx_file({3}, 7, 10));
  const auto dataset = read_idx(find_idx(dir.path(), "train", "get it"));
  ASSERT_EQ(dataset->size(), 3);
  EXPECT_EQ(dataset->sample_shape(), (tensor::Shape{1, 2, 2}));
  EXPECT_EQ(dataset->classes(), 10);
  std::vector<float> image(4);
  std::vector<float> target(1);
  dataset->get(2, 0, {image, target});
  EXPECT_EQ(target[0], 9.0F);
  EXPECT_FLOAT_EQ(image[3], 11.0F / 255.0F);
}

TEST(Idx, PairMustFit) {
  const test::DataFolder dir;
  const auto images = dir.write("i", test::idx_file({3, 2, 2}, 0, 256));
  EXPECT_THAT(user_error_of([&] {
                read_idx({images, dir.write("l", test::idx_file({4}, 0, 10))});
              }),
              AllOf(HasSubstr("3 images"), HasSubstr("4 labels")));
  EXPECT_THAT(user_error_of([&] {
                read_idx({images, dir.write("l", test::idx_file({3}, 8, 256))});
              }),
              AllOf(HasSubstr("label 10"), HasSubstr("position 2")));
  EXPECT_THAT(user_error_of([&] { read_idx({images, images}); }), HasSubstr("expected rank 1"));
  EXPECT_THAT(
      user_error_of([&] { find_idx(dir.path(), "t10k", "fetch it"); }),
      AllOf(HasSubstr(dir.str()), HasSubstr("t10k-images-idx3-ubyte"), HasSubstr("fetch it")));
}

TEST(Cifar, ParsesRecordsOfBothFormats) {
  CifarRecords records;
  parse_cifar(test::cifar_file(3, 1, 10), "f", kCifar10, records);
  parse_cifar(test::cifar_file(2, 1, 10), "f", kCifar10, records);
  EXPECT_EQ(records.labels, (std::vector<float>{0, 1, 2, 0, 1}));
  ASSERT_EQ(records.pixels.size(), 5U * 3072);
  EXPECT_EQ(records.pixels[2 * 3072], 2);
  CifarRecords fine;
  parse_cifar(test::cifar_file(100, 2, 100), "f", kCifar100, fine);
  EXPECT_EQ(fine.labels[99], 99.0F);
  EXPECT_EQ(fine.pixels[99 * 3072 + 1], 100);
}

TEST(Cifar, RefusesPartialRecordsAndWrongLabels) {
  CifarRecords records;
  Bytes file = test::cifar_file(2, 1, 10);
  file.pop_back();
  EXPECT_THAT(user_error_of([&] { parse_cifar(file, "data_batch_1.bin", kCifar10, records); }),
              AllOf(HasSubstr("data_batch_1.bin"), HasSubstr("6145"), HasSubstr("3073")));
  EXPECT_THROW(parse_cifar({}, "f", kCifar10, records), UserError);
  Bytes label = test::cifar_file(2, 1, 10);
  label[3073] = 10;
  EXPECT_THAT(user_error_of([&] { parse_cifar(label, "f", kCifar10, records); }),
              AllOf(HasSubstr("label 10"), HasSubstr("record 1")));
}

TEST(Cifar, FindsFilesInTheSubFolderToo) {
  const test::DataFolder dir;
  EXPECT_THAT(user_error_of([&] { find_cifar10(dir.path()); }), HasSubstr("no test_batch.bin"));
  dir.write("cifar-10-batches-bin/test_batch.bin", test::cifar_file(1, 1, 10));
  EXPECT_THAT(user_error_of([&] { find_cifar10(dir.path()); }), HasSubstr("data_batch_1.bin"));
  dir.write("cifar-10-batches-bin/data_batch_2.bin", test::cifar_file(4, 1, 10));
  dir.write("cifar-10-batches-bin/data_batch_5.bin", test::cifar_file(3, 1, 10));
  const CifarFiles files = find_cifar10(dir.path());
  EXPECT_EQ(files.train.size(), 2U);
  EXPECT_EQ(read_cifar(files.train, kCifar10)->size(), 7);
  dir.write("train.bin", test::cifar_file(1, 2, 100));
  EXPECT_THAT(user_error_of([&] { find_cifar100(dir.path()); }), HasSubstr("no test.bin"));
}

}  // namespace
}  // namespace plait::data
