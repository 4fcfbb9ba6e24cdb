// Inference through sparse layers against plain loops: dropped, kept, threads, any number of
// images.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <stdexcept>

#include "graph/radixnet.hpp"
#include "kernels/sparse/inference.hpp"
#include "kernels/sparse/neuron_order.hpp"
#include "kernels/sparse_testing.hpp"

namespace plait::kernels::sparse {
namespace {

using Images = std::vector<std::int64_t>;

struct Chain {
  std::vector<tensor::SparseMatrix> layers;
  float bias = 0;
  float ceiling = 32;
};

tensor::SparseMatrix with_values(const tensor::SparsePattern& pattern, const auto& value) {
  std::vector<float> values;
  for (std::int64_t i = 0; i < pattern.rows; ++i) {
    for (const std::int32_t j : pattern.row(i)) values.push_back(value(i, j));
  }
  return {std::make_shared<const tensor::SparsePattern>(pattern),
          std::make_shared<const std::vector<float>>(std::move(values))};
}

/// The GraphChallenge's own rule, in double.
std::vector<double> next(const tensor::SparseMatrix& layer, const std::vector<double>& y,
                         const Chain& chain) {
  std::vector<double> result;
  const float* value = layer.values->data();
  for (std::int64_t i = 0; i < layer.pattern->rows; ++i) {
    double z = 0;
    for (const std::int32_t j : layer.pattern->row(i))
      z += *value++ * y[static_cast<std::size_t>(j)];
    if (z != 0) z += chain.bias;
    result.push_back(std::clamp(z, 0.0, double{chain.ceiling}));
  }
  return result;
}

/// How many layers image i has an output of.
std::int64_t lived(const Chain& chain, const tensor::SparsePattern& images, std::int64_t i) {
  std::vector<double> y(static_cast<std::size_t>(images.columns));
  for (const std::int32_t pixel : images.row(i)) y[static_cast<std::size_t>(pixel)] = 1;
  for (std::size_t layer = 0; layer < chain.layers.size(); ++layer) {
    y = next(chain.layers[layer], y, chain);
    if (std::ranges::all_of(y, [](double one) { return one == 0; })) {
      return static_cast<std::int64_t>(layer);
    }
  }
  return std::ssize(chain.layers);
}

Images plain(const Chain& chain, const tensor::SparsePattern& images) {
  Images alive;
  for (std::int64_t i = 0; i < images.rows; ++i) {
    if (lived(chain, images, i) == std::ssize(chain.layers)) alive.push_back(i);
  }
  return alive;
}

/// Every image with a share of pixels of its own.
tensor::SparsePattern random_images(std::int64_t count, std::int64_t pixels, double densest) {
  std::mt19937 random(5);
  std::uniform_real_distribution<double> uniform;
  std::vector<double> share(static_cast<std::size_t>(count));
  for (double& one : share) one = densest * uniform(random);
  return pattern_of(count, pixels, [&](std::int64_t i, std::int64_t) {
    return uniform(random) < share[static_cast<std::size_t>(i)];
  });
}

void expect_all_ways(const Chain& chain, const tensor::SparsePattern& images,
                     const Images& expected) {
  const SparseInference inference(chain.layers, chain.bias, chain.ceiling);
  for (const bool drop : {false, true}) {
    for (const int threads : {1, 2, 3}) {
      SCOPED_TRACE((drop ? "dropped, threads " : "kept, threads ") + std::to_string(threads));
      EXPECT_EQ(inference.run(images, {.drop = drop, .threads = threads}).images, expected);
    }
  }
}

Chain radix_chain(std::int64_t neurons, std::int64_t layers) {
  Chain chain{.layers = {}, .bias = graph::radixnet_bias(neurons)};
  for (const auto& pattern : graph::make_radixnet({neurons, layers}, 3)) {
    chain.layers.push_back(with_values(*pattern, [](auto...) { return graph::kRadixNetWeight; }));
  }
  return chain;
}

class SparseInferenceTest : public testing::TestWithParam<std::int64_t> {};

TEST_P(SparseInferenceTest, AgreesOnAGeneratedNetwork) {
  const Chain chain = radix_chain(64, 30);
  const tensor::SparsePattern images = random_images(GetParam(), 64, 0.5);
  const Images expected = plain(chain, images);
  if (GetParam() > 100) {
    EXPECT_GT(std::ssize(expected), GetParam() / 20);
    EXPECT_LT(std::ssize(expected), GetParam() / 2);
  }
  expect_all_ways(chain, images, expected);
}

// Weights of many values and signs; layers of different widths, with empty rows and columns. Few
// bits, so that sums are exact in any order.
TEST_P(SparseInferenceTest, AgreesOnAnyChain) {
  const auto weight = [](std::int64_t i, std::int64_t j) {
    return static_cast<float>((7 * i + 3 * j) % 9 - 3) / 4;
  };
  const Chain chain{.layers = {with_values(random_pattern(70, 40, 0.1), weight),
                               with_values(random_pattern(30, 70, 0.05), weight),
                               with_values(random_pattern(90, 30, 0.1), weight),
                               with_values(random_pattern(50, 90, 0.1), weight)},
                    .bias = -0.75F,
                    .ceiling = 2};
  const tensor::SparsePattern images = random_images(GetParam(), 40, 0.3);
  const Images expected = plain(chain, images);
  if (GetParam() > 100) {
    EXPECT_FALSE(expected.empty());
    EXPECT_LT(std::ssize(expected), GetParam());
  }
  expect_all_ways(chain, images, expected);
}

INSTANTIATE_TEST_SUITE_P(Images, SparseInferenceTest,
                         testing::Values(0, 1, 5, 16, 63, 65, 300, 1500));

// Image i has pixel i % 40 only and lives through that many layers: more moments to wait at than
// groups may wait.
TEST(SparseInference, ImagesMayDieInAnyLayer) {
  const tensor::SparsePattern diagonal = pattern_of(40, 40, [](auto i, auto j) { return i == j; });
  Chain chain{.layers = {}, .bias = -0.125F};
  chain.layers.push_back(
      with_values(diagonal, [](auto i, auto) { return static_cast<float>(i + 1) / 8; }));
  while (chain.layers.size() < 40) {
    chain.layers.push_back(with_values(diagonal, [](auto...) { return 1.0F; }));
  }
  for (const std::int64_t lived : {39, 30, 3}) {
    chain.layers.resize(static_cast<std::size_t>(lived));
    const tensor::SparsePattern images =
        pattern_of(3000, 40, [](auto i, auto j) { return i * 7919 % 40 == j; });
    Images expected;
    for (std::int64_t i = 0; i < 3000; ++i) {
      if (i * 7919 % 40 >= lived) expected.push_back(i);
    }
    expect_all_ways(chain, images, expected);
  }
}

// A group goes on with at least three quarters of its places taken; the last ones have fewer.
TEST(SparseInference, DroppingSavesTheWork) {
  const Chain chain = radix_chain(64, 30);
  const tensor::SparsePattern images = random_images(6000, 64, 0.35);
  const SparseInference inference(chain.layers, chain.bias, chain.ceiling);
  const auto computed = [&](bool drop, int threads) {
    return inference.run(images, {.drop = drop, .threads = threads}).computed;
  };
  std::int64_t needed = 0;
  for (std::int64_t i = 0; i < images.rows; ++i) {
    needed += std::min<std::int64_t>(lived(chain, images, i) + 1, 30);
  }
  EXPECT_EQ(computed(false, 1), 6016 * 30);
  EXPECT_LT(needed, 6000 * 30 / 2);
  EXPECT_GE(computed(true, 1), needed);
  EXPECT_LE(computed(true, 1), needed * 5 / 4);
  EXPECT_LE(computed(true, 2), needed * 4 / 3);
}

TEST(SparseInference, MinusZeroIsZero) {
  const tensor::SparsePattern one = pattern_of(1, 1, [](auto...) { return true; });
  const Chain chain{.layers = {with_values(one, [](auto...) { return -1.0F; })}, .bias = -0.0F};
  expect_all_ways(chain, pattern_of(3, 1, [](auto i, auto) { return i == 1; }), {});
}

TEST(SparseInference, SaysHowManyEdgesAndRefusesABiasAboveZero) {
  const Chain chain = radix_chain(32, 3);
  const SparseInference inference(chain.layers, -0.5F, 32);
  EXPECT_EQ(inference.edges(), 3 * 32 * 32);
  EXPECT_EQ(inference.inputs(), 32);
  EXPECT_THROW(SparseInference(chain.layers, 0.5F, 32), std::invalid_argument);
}

TEST(NeuronOrder, PutsColumnsThatAreReadTogetherSideBySide) {
  const Chain chain = radix_chain(128, 12);
  for (const tensor::SparseMatrix& layer : ordered(chain.layers).layers) {
    const Classes classes = row_classes(tensor::transposed(*layer.pattern).pattern);
    std::vector<std::int32_t> side_by_side(128);
    std::iota(side_by_side.begin(), side_by_side.end(), 0);
    EXPECT_EQ(classes.member, side_by_side);
  }
}

}  // namespace
}  // namespace plait::kernels::sparse
