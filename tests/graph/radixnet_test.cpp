// Generated networks: sizes as text, the structure of the official ones, equal bits for equal
// seeds.
#include "graph/radixnet.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.hpp"
#include "graph/radix_structure.hpp"

namespace plait::graph {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

std::string radixnet_refusal(const std::string& text) {
  try {
    parse_radixnet(text);
  } catch (const UserError& error) {
    EXPECT_THAT(error.what(), AllOf(StartsWith("radixnet: "), Not(HasSubstr("\n"))));
    return error.what();
  }
  return "no error";
}

TEST(ParseRadixNet, ReadsNeuronsAndLayers) {
  EXPECT_EQ(parse_radixnet("1024x120"), (RadixNetSize{1024, 120}));
  EXPECT_EQ(parse_radixnet("32x1"), (RadixNetSize{32, 1}));
  EXPECT_EQ(parse_radixnet("65536x1920"), (RadixNetSize{65536, 1920}));
}

TEST(ParseRadixNet, RefusesWhatIsNoSize) {
  for (const char* text : {"", "x", "1024", "1024x", "x120", "1024x120x2", "1024 x120", "1024X120",
                           "1024x120 ", "a1024x120", "1e3x120", "99999999999999999999x1"}) {
    EXPECT_THAT(radixnet_refusal(text), HasSubstr("write NEURONSxLAYERS, for example 1024x120"))
        << text;
  }
}

TEST(ParseRadixNet, RefusesOtherNumbersOfNeuronsAndNamesTheNeighbours) {
  EXPECT_THAT(radixnet_refusal("1000x120"),
              HasSubstr("1000 neurons are not a power of two; use 512 or"));
  EXPECT_THAT(radixnet_refusal("16x120"), HasSubstr("16 neurons are not within 32 and"));
  EXPECT_THAT(radixnet_refusal("-1024x120"), HasSubstr("-1024 neurons are not within"));
  EXPECT_THAT(radixnet_refusal("2097152x1"), HasSubstr("2097152 neurons are not within"));
}

TEST(ParseRadixNet, RefusesOtherNumbersOfLayers) {
  EXPECT_THAT(radixnet_refusal("1024x-3"), HasSubstr("-3 layers are not within 1 and"));
  EXPECT_THAT(radixnet_refusal("32x9999999"), HasSubstr("9999999 layers are not within"));
  EXPECT_THAT(radixnet_refusal("1048576x1920"), HasSubstr("use at most 128 layers"));
}

TEST(RadixNet, BiasIsThatOfTheNearestOfficialSize) {
  EXPECT_EQ(radixnet_bias(1024), -0.3F);
  EXPECT_EQ(radixnet_bias(4096), -0.35F);
  EXPECT_EQ(radixnet_bias(16384), -0.4F);
  EXPECT_EQ(radixnet_bias(65536), -0.45F);
  EXPECT_EQ(radixnet_bias(32), -0.3F);
  EXPECT_EQ(radixnet_bias(2048), -0.3F);
  EXPECT_EQ(radixnet_bias(3000), -0.35F);
  EXPECT_EQ(radixnet_bias(1 << 20), -0.45F);
}

class RadixNetOf : public testing::TestWithParam<std::int64_t> {};

TEST_P(RadixNetOf, HasTheStructureOfTheOfficialNetworks) {
  const std::int64_t neurons = GetParam();
  const auto layers = make_radixnet({neurons, 15}, 3);
  ASSERT_EQ(layers.size(), 15U);
  expect_radix_structure(neurons, 15, [&](std::int64_t layer) -> const tensor::SparsePattern& {
    return *layers[static_cast<std::size_t>(layer)];
  });
}

TEST_P(RadixNetOf, JoinsEveryNeuronTo32OnBothSides) {
  for (const auto& layer : make_radixnet({GetParam(), 9}, 3)) {
    EXPECT_EQ(layer->size(), 32 * GetParam());
    const tensor::SparsePattern turned = tensor::transposed(*layer).pattern;
    for (std::int64_t i = 0; i < layer->rows; ++i) {
      const Row row = row_of(*layer, i);
      ASSERT_EQ(row.size(), 32U);
      ASSERT_TRUE(std::is_sorted(row.begin(), row.end()));
      ASSERT_EQ(std::adjacent_find(row.begin(), row.end()), row.end());
      ASSERT_EQ(turned.row(i).size(), 32U);
    }
  }
}

TEST_P(RadixNetOf, ReachesEveryOutputFromEveryInputAfterOneGroup) {
  const std::int64_t neurons = GetParam();
  const int stages = std::countr_zero(static_cast<std::uint64_t>(neurons / 16));
  const auto layers = make_radixnet({neurons, 2 * stages}, 3);
  std::vector<const tensor::SparsePattern*> first, second;
  for (int i = 0; i < stages; ++i) {
    first.push_back(layers[static_cast<std::size_t>(i)].get());
    second.push_back(layers[static_cast<std::size_t>(stages + i)].get());
  }
  const std::int64_t step = std::max<std::int64_t>(1, neurons / 256) | 1;
  for (std::int64_t input = 0; input < neurons; input += step) {
    ASSERT_EQ(reached(first, input), neurons) << input;
    ASSERT_EQ(reached(second, input), neurons) << input;
  }
}

INSTANTIATE_TEST_SUITE_P(Neurons, RadixNetOf, testing::Values(32, 64, 128, 1024));

TEST(RadixNet, JoinsTheFirstLayersByPlaceValue) {
  const auto layers = make_radixnet({64, 2}, 5);
  Row first, second;  // output 1 of 4 nodes: inputs of nodes 1 and 2, then of 1 and 3
  for (std::int32_t block = 0; block < 64; block += 4) {
    first.insert(first.end(), {block + 1, block + 2});
    second.insert(second.end(), {block + 1, block + 3});
  }
  EXPECT_EQ(row_of(*layers[0], 1), first);
  EXPECT_EQ(row_of(*layers[1], 5), second);
}

TEST(RadixNet, EqualSeedsGiveEqualBits) {
  const auto hashes = [](std::int64_t layers, std::uint64_t seed) {
    std::vector<std::string> all;
    for (const auto& layer : make_radixnet({256, layers}, seed))
      all.push_back(tensor::pattern_hash(*layer));
    return all;
  };
  const std::vector<std::string> some = hashes(12, 1);
  EXPECT_EQ(hashes(12, 1), some);
  const std::vector<std::string> more = hashes(13, 1);
  EXPECT_TRUE(std::equal(some.begin(), some.end(), more.begin()));
  const std::vector<std::string> other = hashes(12, 2);
  for (std::size_t i = 0; i < 12; ++i) EXPECT_EQ(some[i] == other[i], i < 4) << i;
  EXPECT_EQ(std::set<std::string>(some.begin(), some.end()).size(), 12U);
}

TEST(RadixNet, RefusesTheSameSizesAsItsParser) {
  EXPECT_THROW(make_radixnet({1000, 1}, 1), UserError);
  EXPECT_THROW(make_radixnet({1024, 0}, 1), UserError);
}

}  // namespace
}  // namespace plait::graph
