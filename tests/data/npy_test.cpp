// NPY files of every supported type, and refusal of the others and of truncated ones.
#include "data/npy.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "data/test_files.hpp"

namespace plait::data {
namespace {

using test::npy_dict;
using test::npy_file;
using test::user_error_of;
using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(Npy, HeaderOfBothVersions) {
  for (const int version : {1, 2}) {
    const Bytes file = npy_file<float>(npy_dict("<f4", "(2, 3)"), {1, 2, 3, 4, 5, 6}, version);
    const NpyHeader header = parse_npy_header(file, "f");
    EXPECT_EQ(header.descr, "<f4");
    EXPECT_EQ(header.shape, (tensor::Shape{2, 3}));
    EXPECT_EQ(file.size() - header.size, 24U);
  }
}

TEST(Npy, EveryTruncationIsRefused) {
  const Bytes file = npy_file<float>(npy_dict("<f4", "(2, 3)"), {1, 2, 3, 4, 5, 6}, 2);
  for (std::size_t size = 0; size < file.size(); ++size) {
    EXPECT_THROW(parse_npy_header(ByteView(file).first(size), "f"), UserError) << size;
  }
}

TEST(Npy, RefusesWhatItCannotRead) {
  const auto message = [](const std::string& dict) {
    return user_error_of([&] { parse_npy_header(npy_file<float>(dict, {1, 2}), "a.npy"); });
  };
  EXPECT_THAT(message("{'descr': '<f4', 'fortran_order': True, 'shape': (2,), }"),
              AllOf(HasSubstr("a.npy"), HasSubstr("Fortran order")));
  EXPECT_THAT(message(npy_dict(">f4", "(2,)")), HasSubstr("big-endian"));
  EXPECT_THAT(message(npy_dict("<c8", "(1,)")), HasSubstr("'<c8'"));
  EXPECT_THAT(message(npy_dict("|O", "(1,)")), HasSubstr("'|O'"));
  EXPECT_THAT(message("{'descr': [('x', '<f4')], 'fortran_order': False, 'shape': (2,), }"),
              HasSubstr("structured"));
  EXPECT_THAT(message(npy_dict("<f4", "(4611686018427387904, 4)")), HasSubstr("holds 8 bytes"));
  EXPECT_THAT(message(npy_dict("<f4", "(99999999999999999999,)")), HasSubstr("cannot be read"));
  EXPECT_THAT(message(npy_dict("<f4", "(1,)")), HasSubstr("declares 4 bytes"));
  EXPECT_THAT(message(npy_dict("<f4", "(0,)")), HasSubstr("empty axis"));
  EXPECT_THAT(message("{'descr': '<f4', 'shape': (2,), }"), HasSubstr("lacks"));
  EXPECT_THAT(message("{'colour': '<f4', }"), HasSubstr("'colour'"));
  Bytes version3 = npy_file<float>(npy_dict("<f4", "(2,)"), {1, 2});
  version3[6] = 3;
  EXPECT_THAT(user_error_of([&] { parse_npy_header(version3, "f"); }), HasSubstr("version 3.0"));
}

TEST(Npy, InputsOfAllTypes) {
  const NpyInputs u1 =
      parse_npy_inputs(npy_file<std::uint8_t>(npy_dict("|u1", "(1, 2)"), {3, 255}), "f");
  EXPECT_EQ(std::get<Bytes>(u1.values), (Bytes{3, 255}));
  const NpyInputs f8 =
      parse_npy_inputs(npy_file<double>(npy_dict("<f8", "(2, 1)"), {0.5, -2}), "f");
  EXPECT_EQ(std::get<1>(f8.values), (std::vector<float>{0.5F, -2}));
  EXPECT_THAT(user_error_of([] {
                parse_npy_inputs(npy_file<double>(npy_dict("<f8", "(1, 2)"), {1, 1e300}), "f");
              }),
              HasSubstr("position 1"));
  EXPECT_THROW(parse_npy_inputs(npy_file<float>(npy_dict("<f4", "(1, 1)"), {NAN}), "f"), UserError);
  EXPECT_THAT(user_error_of([] {
                parse_npy_inputs(npy_file<float>(npy_dict("<f4", "(2,)"), {1, 2}), "f");
              }),
              HasSubstr("shape 2"));
  EXPECT_THAT(user_error_of([] {
                parse_npy_inputs(npy_file<int>(npy_dict("<i4", "(1, 2)"), {1, 2}), "f");
              }),
              HasSubstr("<i4"));
}

TEST(Npy, LabelsAndRegressionTargets) {
  const NpyTargets labels =
      parse_npy_targets(npy_file<std::int64_t>(npy_dict("<i8", "(3,)"), {2, 0, 7}), "f");
  EXPECT_TRUE(labels.are_labels);
  EXPECT_EQ(labels.values, (std::vector<float>{2, 0, 7}));
  EXPECT_THAT(user_error_of([] {
                parse_npy_targets(npy_file<std::int16_t>(npy_dict("<i2", "(2,)"), {1, -1}), "f");
              }),
              AllOf(HasSubstr("label -1"), HasSubstr("position 1")));
  EXPECT_THROW(parse_npy_targets(npy_file<std::uint64_t>(npy_dict("<u8", "(1,)"), {~0ULL}), "f"),
               UserError);
  EXPECT_THAT(user_error_of([] {
                parse_npy_targets(npy_file<int>(npy_dict("<i4", "(1, 2)"), {1, 2}), "f");
              }),
              AllOf(HasSubstr("f: integer labels of shape 1x2, one for each position"),
                    HasSubstr("there is no loss per position yet"), Not(HasSubstr("y[:, 0]"))));
  EXPECT_THAT(user_error_of([] {
                parse_npy_targets(npy_file<int>(npy_dict("<i4", "(2, 1)"), {1, 2}), "f");
              }),
              HasSubstr("save y[:, 0] for one label per sample"));
  const NpyTargets floats =
      parse_npy_targets(npy_file<float>(npy_dict("<f4", "(1, 2)"), {1, 2}), "f");
  EXPECT_FALSE(floats.are_labels);
}

TEST(Npy, PairsOfFiles) {
  const test::DataFolder dir;
  dir.write("train_x.npy",
            npy_file<float>(npy_dict("<f4", "(2, 2, 3)"), std::vector<float>(12, 1)));
  EXPECT_THAT(user_error_of([&] { read_npy_pair(dir.path(), "train"); }),
              HasSubstr("train_y.npy: no such file"));
  dir.write("train_y.npy", npy_file<int>(npy_dict("<i4", "(2,)"), {4, 1}));
  const MemoryData grey = read_npy_pair(dir.path(), "train");
  EXPECT_EQ(grey.sample_shape, (tensor::Shape{1, 2, 3}));
  EXPECT_EQ(grey.classes, 5);
  const MemoryData sequences = read_npy_pair(dir.path(), "train", {.sequences = true});
  EXPECT_EQ(sequences.sample_shape, (tensor::Shape{2, 3}));
  dir.write("train_y.npy", npy_file<float>(npy_dict("<f4", "(2, 2)"), {4, 1, 2, 3}));
  const MemoryData regression = read_npy_pair(dir.path(), "train");
  EXPECT_EQ(regression.target_shape, (tensor::Shape{2}));
  EXPECT_EQ(regression.classes, 0);
  dir.write("train_y.npy", npy_file<int>(npy_dict("<i4", "(3,)"), {4, 1, 1}));
  EXPECT_THAT(user_error_of([&] { read_npy_pair(dir.path(), "train"); }),
              AllOf(HasSubstr("2 samples"), HasSubstr("3 targets")));
}

TEST(Npy, LabelsOfPixels) {
  const test::DataFolder dir;
  dir.write("train_x.npy", npy_file<std::uint8_t>(npy_dict("|u1", "(2, 3, 1, 2)"),
                                                  std::vector<std::uint8_t>(12, 1)));
  const std::string labels = npy_dict("|u1", "(2, 1, 2)");
  dir.write("train_y.npy", npy_file<std::uint8_t>(labels, {0, 255, 6, 1}));
  const MemoryData usual = read_npy_pair(dir.path(), "train");
  EXPECT_EQ(usual.target_shape, (tensor::Shape{1, 2}));
  EXPECT_EQ(usual.targets, (std::vector<float>{0, -1, 6, 1}));
  EXPECT_EQ(usual.classes, 7);
  const MemoryData six = read_npy_pair(dir.path(), "train", {.ignored = 6});
  EXPECT_EQ(six.targets, (std::vector<float>{0, 255, -1, 1}));
  EXPECT_EQ(six.classes, 256);
  dir.write("train_y.npy", npy_file<std::int64_t>(npy_dict("<i8", "(2, 1, 2)"), {0, -100, 2, 1}));
  EXPECT_EQ(read_npy_pair(dir.path(), "train", {.ignored = -100}).targets,
            (std::vector<float>{0, -1, 2, 1}));
  EXPECT_THAT(user_error_of([&] { read_npy_pair(dir.path(), "train"); }),
              AllOf(HasSubstr("label -100 at position 1"), HasSubstr("`ignore_label`")));
  dir.write("train_y.npy", npy_file<std::uint8_t>(labels, {255, 255, 255, 255}));
  EXPECT_THAT(user_error_of([&] { read_npy_pair(dir.path(), "train"); }), HasSubstr("every pixel"));
  dir.write("train_y.npy", npy_file<std::uint8_t>(npy_dict("|u1", "(2, 2, 1)"), {0, 1, 2, 3}));
  EXPECT_THAT(user_error_of([&] { read_npy_pair(dir.path(), "train"); }),
              AllOf(HasSubstr("2x1 pixels"), HasSubstr("3x1x2")));
}

}  // namespace
}  // namespace plait::data
