// Parameters: how they begin, and that the begin depends on the name and the seed only.
#include "graph/parameters.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "graph/shapes.hpp"

namespace plait::graph {
namespace {

TEST(LayerParameters, ConvolutionWithGroups) {
  const ops::Convolution conv{.out_channels = 8, .kernel = {3, 5}, .groups = 2};
  const std::vector<ops::ParameterSpec> list = ops::parameters_of(conv, {6, 9, 9});
  ASSERT_EQ(list.size(), 2U);
  EXPECT_EQ(list[0].shape, (tensor::Shape{8, 3, 3, 5}));
  EXPECT_EQ(list[0].fan_in, 45);
  EXPECT_EQ(list[1].shape, tensor::Shape{8});
}

TEST(LayerParameters, BatchNormHasUntrainedStatistics) {
  const std::vector<ops::ParameterSpec> list = ops::parameters_of(ops::BatchNorm{}, {6, 9, 9});
  ASSERT_EQ(list.size(), 4U);
  EXPECT_TRUE(list[1].trainable);
  EXPECT_EQ(list[2].name, "running_mean");
  EXPECT_FALSE(list[2].trainable);
  EXPECT_FALSE(list[3].trainable);
}

TEST(InitialValue, DependsOnNameAndSeedOnly) {
  const ops::ParameterSpec weight{
      .name = "weight", .shape = {4, 5}, .init = ops::Init::he_normal, .fan_in = 5};
  const auto floats = [&](std::uint64_t seed, const std::string& name) {
    const tensor::Tensor value = initial_value(weight, seed, name);
    return std::vector<float>(value.floats().begin(), value.floats().end());
  };
  EXPECT_EQ(floats(1, "a.weight"), floats(1, "a.weight"));
  EXPECT_NE(floats(1, "a.weight"), floats(1, "b.weight"));
  EXPECT_NE(floats(1, "a.weight"), floats(2, "a.weight"));
}

TEST(InitialValue, HasTheRightSpread) {
  const tensor::Tensor normal = initial_value(
      {.name = "w", .shape = {200, 500}, .init = ops::Init::he_normal, .fan_in = 50}, 1, "w");
  double squares = 0;
  for (float x : normal.floats()) squares += static_cast<double>(x) * x;
  EXPECT_NEAR(std::sqrt(squares / 100'000), 0.2, 0.002);  // sqrt(2 / 50)
  const tensor::Tensor uniform = initial_value(
      {.name = "w", .shape = {100'000}, .init = ops::Init::fan_in_uniform, .fan_in = 25}, 1, "w");
  EXPECT_NEAR(std::ranges::max(uniform.floats()), 0.2, 1e-4);  // 1 / sqrt(25)
  EXPECT_NEAR(std::ranges::min(uniform.floats()), -0.2, 1e-4);
  const tensor::Tensor ones = initial_value({.name = "w", .shape = {3}, .value = 1}, 1, "w");
  EXPECT_EQ(ones.floats()[2], 1);
}

TEST(Shapes, WindowsOfOddSizes) {
  const auto shape = [](const ops::Operation& layer, const tensor::Shape& src) {
    return ops::result_shape(layer, std::vector{src}, "here");
  };
  EXPECT_EQ(shape(
                ops::Convolution{
                    .out_channels = 2, .kernel = {7, 7}, .stride = {2, 2}, .padding = {3, 3}},
                {3, 224, 225}),
            (tensor::Shape{2, 112, 113}));
  EXPECT_EQ(shape(ops::Convolution{.out_channels = 2, .dilation = {2, 3}}, {3, 9, 9}),
            (tensor::Shape{2, 5, 3}));
  EXPECT_EQ(shape(ops::Pool{}, {4, 7, 5}), (tensor::Shape{4, 3, 2}));
  EXPECT_EQ(shape(ops::Flatten{}, {4, 7, 5}), tensor::Shape{140});
  EXPECT_EQ(shape(ops::GlobalAveragePool{}, {4, 7, 5}), (tensor::Shape{4, 1, 1}));
}

}  // namespace
}  // namespace plait::graph
