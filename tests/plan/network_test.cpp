// Networks of models: counts, the chain, and the hash.
#include "plan/network.hpp"

#include <gtest/gtest.h>

#include "model/macs.hpp"
#include "model/parameters.hpp"
#include "model/zoo.hpp"
#include "plan/hand_made.hpp"

namespace plait::plan {
namespace {

TEST(Network, OfAModelAddsUpToItsCost) {
  for (const char* name : {"vgg16", "resnet164", "lenet"}) {
    const model::ModelSpec model = model::make_model(name, {3, 32, 32}, 10);
    const Network network = make_network(model);
    const model::BlockCost cost = model::model_cost(model);
    EXPECT_EQ(network.parameters(), cost.parameters) << name;
    EXPECT_EQ(network.macs(), cost.macs) << name;
    EXPECT_EQ(network.tensors.front(), 3 * 32 * 32) << name;
    EXPECT_EQ(network.tensors[static_cast<std::size_t>(network.logits())], 10) << name;
    std::int64_t activations = 0;
    for (const NetworkBlock& block : network.blocks) {
      activations += block.inner_elements + network.tensors[static_cast<std::size_t>(block.dst)];
      EXPECT_GE(block.inner_elements, 0);
    }
    EXPECT_EQ(activations, cost.activation_elements) << name;
  }
}

TEST(Network, OfAModelIsAChain) {
  const model::ModelSpec model = model::make_model("resnet164", {3, 32, 32}, 10);
  const Network network = make_network(model);
  ASSERT_EQ(network.blocks.size(), model.blocks.size());
  ASSERT_EQ(network.tensors.size(), model.blocks.size() + 1);
  for (int i = 0; i < network.size(); ++i) {
    EXPECT_EQ(network.blocks[static_cast<std::size_t>(i)].srcs, std::vector{i});
    EXPECT_EQ(network.blocks[static_cast<std::size_t>(i)].dst, i + 1);
    EXPECT_EQ(network.blocks[static_cast<std::size_t>(i)].name,
              model.blocks[static_cast<std::size_t>(i)].name);
  }
}

TEST(Network, CountsRunningStatisticsAsState) {
  model::BlockSpec block{.name = "b", .nodes = {}};
  block.then("conv", ops::Convolution{.out_channels = 4, .kernel = {1, 1}, .bias = false});
  block.then("bn", ops::BatchNorm{});
  const Network network = make_network({.name = "m", .input = {2, 5, 5}, .blocks = {block}});
  EXPECT_EQ(network.blocks[0].parameters, 4 * 2 + 4 + 4);
  EXPECT_EQ(network.blocks[0].state, 4 + 4);
  EXPECT_EQ(network.blocks[0].inner_elements, 4 * 5 * 5);
}

TEST(NetworkHash, IsEqualForEqualNetworksOnly) {
  const Network vgg = make_network(model::make_model("vgg16", {3, 32, 32}, 10));
  EXPECT_EQ(network_hash(vgg),
            network_hash(make_network(model::make_model("vgg16", {3, 32, 32}, 10))));
  EXPECT_NE(network_hash(vgg),
            network_hash(make_network(model::make_model("vgg16", {3, 32, 32}, 11))));
  EXPECT_NE(network_hash(vgg),
            network_hash(make_network(model::make_model("vgg13", {3, 32, 32}, 10))));
}

TEST(NetworkHash, SeesEveryNumberOfANetworkWithoutLayers) {
  std::vector<Network> networks(10, hand_made::network());
  networks[1].name = "other";
  networks[2].tensors[1] += 1;
  networks[3].blocks[0].name = "conv";
  networks[4].blocks[0].parameters += 1;
  networks[5].blocks[0].state += 1;
  networks[6].blocks[0].macs += 1;
  networks[7].blocks[0].inner_elements += 1;
  networks[8].blocks[0].dst = 2;
  networks[9].blocks[0].spec.then("relu", ops::Activation{});
  for (std::size_t i = 0; i < networks.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      EXPECT_NE(network_hash(networks[i]), network_hash(networks[j])) << i << " " << j;
    }
  }
}

}  // namespace
}  // namespace plait::plan
