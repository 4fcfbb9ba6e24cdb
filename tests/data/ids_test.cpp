// Token ids from NPY files: every type of integers, what is refused, and batches of them.
#include "data/ids.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/augment.hpp"
#include "data/batch.hpp"
#include "data/normalise.hpp"
#include "data/npy.hpp"
#include "data/open.hpp"
#include "data/test_files.hpp"
#include "token_files.hpp"

namespace plait::data {
namespace {

using test::npy_dict;
using test::npy_file;
using test::user_error_of;
using ::testing::HasSubstr;

template <class T>
std::vector<std::int32_t> ids_of(const std::string& descr, const std::vector<T>& values) {
  const NpyInputs inputs = parse_npy_ids(npy_file<T>(npy_dict(descr, "(2, 2)"), values), "x.npy");
  EXPECT_EQ(inputs.shape, (tensor::Shape{2, 2}));
  return std::get<std::vector<std::int32_t>>(inputs.values);
}

TEST(TokenIds, OfEveryTypeOfIntegers) {
  const std::vector<std::int32_t> expected{1, 0, 100, 7};
  EXPECT_EQ(ids_of<std::uint8_t>("|u1", {1, 0, 100, 7}), expected);
  EXPECT_EQ(ids_of<std::int8_t>("|i1", {1, 0, 100, 7}), expected);
  EXPECT_EQ(ids_of<std::int16_t>("<i2", {1, 0, 100, 7}), expected);
  EXPECT_EQ(ids_of<std::uint16_t>("<u2", {1, 0, 100, 7}), expected);
  EXPECT_EQ(ids_of<std::int32_t>("<i4", {1, 0, 100, 7}), expected);
  EXPECT_EQ(ids_of<std::int64_t>("<i8", {1, 0, 100, 7}), expected);
  EXPECT_EQ(ids_of<std::uint64_t>("<u8", {1, 0, 100, 7}), expected);
}

TEST(TokenIds, OthersAreRefusedWithTheirPlace) {
  const auto refused = [](const std::string& descr, const auto& values) {
    return user_error_of([&] { ids_of(descr, values); });
  };
  EXPECT_EQ(refused("<i4", std::vector<std::int32_t>{1, 2, 3, -5}),
            "x.npy: sample 1 has the token id -5 at position 1; expected 0 to 2^31 - 1");
  EXPECT_THAT(refused("<i8", std::vector<std::int64_t>{1, std::int64_t{1} << 31, 3, 5}),
              HasSubstr("sample 0 has the token id 2147483648 at position 1"));
  EXPECT_THAT(refused("<u8", std::vector<std::uint64_t>{1, 2, ~0ULL, 5}),
              HasSubstr("id 18446744073709551615"));
  EXPECT_EQ(refused("<f4", std::vector<float>{1, 2, 3, 4}),
            "x.npy: inputs of type <f4, but the model reads token ids: integers");
  const Bytes flat = npy_file<int>(npy_dict("<i4", "(4,)"), {1, 2, 3, 4});
  EXPECT_THAT(user_error_of([&] { parse_npy_ids(flat, "x.npy"); }), HasSubstr("rank 2"));
  const Bytes wide = npy_file<int>(npy_dict("<i4", "(2, 2)"), {1, 2, 3, 4});
  EXPECT_THAT(user_error_of([&] { parse_npy_inputs(wide, "x.npy"); }),
              HasSubstr("inputs of type <i4; expected u1, f4 or f8 (a model with input_type"));
}

class TokenData : public ::testing::Test {
 protected:
  TempFolder folder_;
  std::string spec_ = token_files(folder_.path());
  Splits open(const DataOptions& options = {.input = tensor::DType::i32}) const {
    return open_data(spec_, options);
  }
};

TEST_F(TokenData, BatchesHoldIntegers) {
  const Splits splits = open();
  EXPECT_TRUE(holds_ids(*splits.train));
  EXPECT_TRUE(splits.statistics.mean.empty());
  EXPECT_EQ(splits.train->sample_shape(), tensor::Shape{kTokenPositions});
  const BatchStream stream(splits.train, {.batch = 4, .shuffle = false});
  const Batch batch = stream.load(0, 1);
  EXPECT_EQ(batch.images.desc(),
            (tensor::TensorDesc{.shape = {4, kTokenPositions}, .dtype = tensor::DType::i32}));
  SampleMemory sample(*splits.train, 1);
  for (std::int64_t n = 0; n < 4; ++n) {
    splits.train->get(4 + n, 0, sample.at(0));
    for (std::size_t t = 0; t < kTokenPositions; ++t) {
      EXPECT_EQ(batch.images.as<std::int32_t>()[static_cast<std::size_t>(n) * kTokenPositions + t],
                sample.images.as<std::int32_t>()[t]);
    }
    EXPECT_EQ(batch.targets.floats()[static_cast<std::size_t>(n)], sample.targets.floats()[0]);
  }
  EXPECT_TRUE(holds_ids(*open({}).train));  // the files say so themselves
}

TEST_F(TokenData, AreHeldAgainstTheVocabulary) {
  const Splits splits = open();
  check_ids(*splits.train, kTokenVocabulary, "data", "block 'e'");
  const std::string text =
      user_error_of([&] { check_ids(*splits.train, 5, "data 'd', train", "block 'e'"); });
  EXPECT_THAT(text, ::testing::MatchesRegex("data 'd', train sample [0-9]+: the token id [0-9]+ at "
                                            "position [0-9]+ is not among the 5 \\(0 to 4\\) of "
                                            "block 'e'"));
}

TEST_F(TokenData, AreNeitherNormalisedNorAugmented) {
  const DatasetPtr train = open().train;
  EXPECT_THAT(user_error_of([&] { measure_channels(*train); }), HasSubstr("token ids"));
  EXPECT_THAT(user_error_of([&] { Normalise(train, {{0.0F}, {1.0F}}); }), HasSubstr("token ids"));
  EXPECT_THAT(
      user_error_of([&] { open({.input = tensor::DType::i32, .augmentation = {.flip = true}}); }),
      HasSubstr("augmentation flip needs images, but the samples are token ids"));
  EXPECT_THAT(user_error_of([&] { open_data("glyphs", {.input = tensor::DType::i32}); }),
              HasSubstr("data 'glyphs': has images, but the model reads token ids"));
  EXPECT_THAT(user_error_of([&] { open({.input = tensor::DType::f32}); }),
              HasSubstr("inputs of type <i4"));
}

}  // namespace
}  // namespace plait::data
