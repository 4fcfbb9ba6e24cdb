// Clock cycles of a systolic array by hand: products, tiles, groups, and what is refused.
#include "cost/systolic.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "graph/zoo.hpp"

namespace plait::cost {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

TEST(Systolic, TilesOfTheResultTakeTheirTurn) {
  const SystolicArray array{.rows = 4, .columns = 8};
  EXPECT_EQ(systolic_cycles(array, 4, 100, 8), 110);      // one tile
  EXPECT_EQ(systolic_cycles(array, 5, 100, 9), 4 * 110);  // two by two, mostly empty
  EXPECT_EQ(systolic_cycles(array, 12, 1, 16), 6 * 11);
}

plan::Network network_with(const ops::Operation& layer, const tensor::Shape& input) {
  graph::ModelSpec model{.name = "m", .input = input, .blocks = {}};
  model.blocks.emplace_back(graph::BlockSpec{.name = "front", .nodes = {}})
      .then("conv", ops::Convolution{.out_channels = input[0], .padding = {1, 1}});
  model.blocks.emplace_back(graph::BlockSpec{.name = "layer", .nodes = {}}).then("layer", layer);
  return plan::make_network(model);
}

TEST(Systolic, AConvolutionIsThreeProducts) {
  const SystolicArray array{.rows = 16, .columns = 16, .clocks_per_second = 1};
  const ops::Convolution conv{.out_channels = 24, .stride = {2, 2}, .padding = {1, 1}};
  const plan::Network network = network_with(conv, {20, 8, 8});
  const BlockSeconds seconds = make_systolic_cost(network, array)->block(1, 3);
  const double positions = 3 * 4 * 4;
  const auto cycles = [&](double m, double k, double n) { return systolic_cycles(array, m, k, n); };
  EXPECT_EQ(seconds.forward, cycles(positions, 20 * 9, 24));
  EXPECT_EQ(seconds.backward_data, cycles(positions, 24 * 9, 20));
  EXPECT_EQ(seconds.backward_weights, cycles(20 * 9, positions, 24));
  EXPECT_EQ(seconds.update, 0);
}

TEST(Systolic, GroupsAreProductsOfTheirOwn) {
  const SystolicArray array{.rows = 16, .columns = 16, .clocks_per_second = 1};
  const ops::Convolution conv{.out_channels = 40, .padding = {1, 1}, .groups = 5};
  const BlockSeconds seconds =
      make_systolic_cost(network_with(conv, {20, 8, 8}), array)->block(1, 1);
  EXPECT_EQ(seconds.forward, 5 * systolic_cycles(array, 64, 4 * 9, 8));
  EXPECT_EQ(seconds.backward_weights, 5 * systolic_cycles(array, 4 * 9, 64, 8));
}

/// 20 channels of 4x4 become 12 of 8x8: the convolution from 8x8 to 4x4, the other way round.
TEST(Systolic, ATransposedConvolutionIsItsConvolutionBackwards) {
  const SystolicArray array{.rows = 16, .columns = 16, .clocks_per_second = 1};
  const ops::TransposedConvolution layer{.out_channels = 12, .kernel = {2, 2}, .stride = {2, 2}};
  const BlockSeconds seconds =
      make_systolic_cost(network_with(layer, {20, 4, 4}), array)->block(1, 3);
  const double positions = 3 * 4 * 4;
  EXPECT_EQ(seconds.forward, systolic_cycles(array, positions, 4 * 20, 12));
  EXPECT_EQ(seconds.backward_data, systolic_cycles(array, positions, 12 * 4, 20));
  EXPECT_EQ(seconds.backward_weights, systolic_cycles(array, 12 * 4, positions, 20));
}

TEST(Systolic, EveryRowOfASequenceIsAPosition) {
  const SystolicArray array{.rows = 16, .columns = 16, .clocks_per_second = 1};
  graph::ModelSpec model{.name = "m", .input = {6, 10}, .blocks = {}};
  model.blocks.emplace_back(graph::BlockSpec{.name = "fc", .nodes = {}})
      .then("fc", ops::Linear{.out_features = 30});
  const plan::Network network = plan::make_network(model);
  const BlockSeconds seconds = make_systolic_cost(network, array)->block(0, 3);
  EXPECT_EQ(seconds.forward, systolic_cycles(array, 3 * 6, 10, 30));
}

TEST(Systolic, WhatItCannotMultiplyIsRefused) {
  const plan::Network sparse =
      plan::make_network(graph::make_model("radixnet:1024x2", {1024}, 1024));
  EXPECT_THAT([&] { make_systolic_cost(sparse, {}); },
              ThrowsMessage<UserError>(HasSubstr("multiplies dense matrices")));
  graph::ModelSpec model{.name = "still", .input = {4, 8, 8}, .blocks = {}};
  model.blocks.emplace_back(graph::BlockSpec{.name = "bn", .nodes = {}})
      .then("bn", ops::BatchNorm{});
  EXPECT_THAT([&] { make_systolic_cost(plan::make_network(model), {}); },
              ThrowsMessage<UserError>(HasSubstr("no layer of still multiplies")));
}

TEST(Systolic, NobodyWaitsForTheGradientOfTheInput) {
  const plan::Network network = plan::make_network(graph::make_model("vgg16", {3, 32, 32}, 10));
  const auto cost = make_systolic_cost(network, {});
  EXPECT_EQ(cost->block(0, 8).backward_data, 0);
  EXPECT_GT(cost->block(0, 8).backward_weights, 0);
  double counted = 0;  // of the array's units, in all
  double busy = 0;
  for (int b = 0; b < network.size(); ++b) {
    const auto macs = static_cast<double>(network.blocks[static_cast<std::size_t>(b)].macs);
    busy += 8 * macs / (128 * 128);
    counted += 1e9 * cost->block(b, 8).forward;
  }
  EXPECT_GT(counted, busy);
  EXPECT_LT(counted, 10 * busy);
}

TEST(Systolic, ReadsExtents) {
  EXPECT_EQ(parse_systolic_array("12x340", "cost").rows, 12);
  EXPECT_EQ(parse_systolic_array("12x340", "cost").columns, 340);
  for (const char* text : {"", "x", "12", "12x", "x12", "0x12", "12x-1", "12x12x12", "1e3x4",
                           "99999999999999999999x1", "65537x1"}) {
    EXPECT_THAT([&] { parse_systolic_array(text, "cost"); },
                ThrowsMessage<UserError>(HasSubstr("like systolic:128x128")))
        << text;
  }
}

TEST(Systolic, NeedsLayers) {
  plan::Network network;
  network.input = {1};
  network.tensors = {1, 1};
  network.blocks.push_back({.name = "b", .srcs = {0}, .dst = 1, .macs = 3});
  EXPECT_THAT([&] { make_systolic_cost(network, {}); },
              ThrowsMessage<UserError>(HasSubstr("the layers of 'b'")));
}

}  // namespace
}  // namespace plait::cost
