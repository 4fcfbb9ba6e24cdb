// Networks of models: counts, the chain, and the hash.
#include "plan/network.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/macs.hpp"
#include "graph/parameters.hpp"
#include "graph/zoo.hpp"
#include "plan/hand_made.hpp"

namespace plait::plan {
namespace {

using ::testing::ElementsAre;

TEST(Network, OfAModelAddsUpToItsCost) {
  for (const char* name : {"vgg16", "resnet164", "lenet"}) {
    const graph::ModelSpec model = graph::make_model(name, {3, 32, 32}, 10);
    const Network network = make_network(model);
    const graph::BlockCost cost = graph::model_cost(model);
    EXPECT_EQ(network.parameters(), cost.parameters) << name;
    EXPECT_EQ(network.macs(), cost.macs) << name;
    EXPECT_EQ(network.tensors.front(), 3 * 32 * 32) << name;
    EXPECT_EQ(network.tensors[static_cast<std::size_t>(network.logits())], 10) << name;
  }
}

TEST(Network, HasTheFinestBlocks) {
  const graph::ModelSpec model = graph::make_model("resnet164", {3, 32, 32}, 10);
  const Network network = make_network(model);
  std::vector<std::string> names;
  for (int i = 0; i < network.size(); ++i) {
    EXPECT_EQ(network.blocks[static_cast<std::size_t>(i)].dst, i + 1);
    names.push_back(network.blocks[static_cast<std::size_t>(i)].name);
  }
  names.resize(14);
  EXPECT_THAT(
      names, ElementsAre("stem", "layer1.0.bn1", "layer1.0.conv1", "layer1.0.bn2", "layer1.0.conv2",
                         "layer1.0.bn3", "layer1.0.conv3", "layer1.0.shortcut", "layer1.1.bn1",
                         "layer1.1.conv1", "layer1.1.bn2", "layer1.1.conv2", "layer1.1.bn3",
                         "layer1.1.conv3"));
  EXPECT_THAT(network.blocks[7].srcs, ElementsAre(2, 7)) << "bn1 with relu1, and conv3 to add";
  EXPECT_THAT(network.blocks[13].srcs, ElementsAre(13, 8));
  EXPECT_EQ(network.tensors.size(), network.blocks.size() + 1);
  EXPECT_TRUE(begins_module(network, 0));
  EXPECT_TRUE(begins_module(network, 8));
  EXPECT_FALSE(begins_module(network, 9));
}

TEST(Network, BothGradientsOfAConvolutionDependOnOneGradientAndNotOnEachOther) {
  const Network network = make_network(graph::make_model("resnet164", {3, 32, 32}, 10));
  for (const NetworkBlock& block : network.blocks) {
    const bool learns_from_src = block.parameters > 0 && !std::holds_alternative<ops::BatchNorm>(
                                                             block.spec.nodes.front().layer);
    EXPECT_EQ(block.traits.weights_read_src, learns_from_src) << block.name;
    EXPECT_EQ(block.traits.weights_read_pending, block.parameters > 0 && !learns_from_src)
        << block.name;
  }
}

TEST(Network, CountsRunningStatisticsAsState) {
  graph::BlockSpec block{.name = "b", .nodes = {}};
  block.then("conv", ops::Convolution{.out_channels = 4, .kernel = {1, 1}, .bias = false});
  block.then("bn", ops::BatchNorm{});
  const Network network = make_network({.name = "m", .input = {2, 5, 5}, .blocks = {block}});
  EXPECT_EQ(network.parameters(), 4 * 2 + 4 + 4);
  EXPECT_EQ(network.blocks[0].state, 0);
  EXPECT_EQ(network.blocks[1].state, 4 + 4);
  EXPECT_EQ(network.blocks[1].inner_elements, 0);
}

/// Nobody waits for the gradient of what weights have no part in.
TEST(Network, KnowsWhichTensorsDependOnWeights) {
  const Network network = make_network(graph::make_model("mlp:8", {1, 4, 4}, 3));
  ASSERT_EQ(network.blocks[0].name, "fc1.flatten");
  EXPECT_FALSE(network.has_gradient(0));
  EXPECT_FALSE(network.has_gradient(1));
  EXPECT_TRUE(network.has_gradient(2));
  EXPECT_FALSE(network.has_backward(0));
  EXPECT_TRUE(network.has_backward(1));
  EXPECT_FALSE(network.returns_gradient(1));
}

TEST(NetworkHash, IsEqualForEqualNetworksOnly) {
  const Network vgg = make_network(graph::make_model("vgg16", {3, 32, 32}, 10));
  EXPECT_EQ(network_hash(vgg),
            network_hash(make_network(graph::make_model("vgg16", {3, 32, 32}, 10))));
  EXPECT_NE(network_hash(vgg),
            network_hash(make_network(graph::make_model("vgg16", {3, 32, 32}, 11))));
  EXPECT_NE(network_hash(vgg),
            network_hash(make_network(graph::make_model("vgg13", {3, 32, 32}, 10))));
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
