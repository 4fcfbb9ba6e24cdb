// Published profiles: made-up graphs by hand, and the real files where they are.
#include "cost/published.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "cost/published_testing.hpp"

namespace plait::cost {
namespace {

using testing::ElementsAre;

/// Batch 8. node4 is read by node5 and node6; node10 (a size) and node9 by node11.
std::string residual() {
  return node(6, "Add(inplace)", measures(0.5, 0, 320, 0)) +
         node(5, "Conv2d(3, 3)", measures(3, 5, 320, 40)) +
         node(2, "Conv2d(1, 3, kernel_size=(3, 3))", measures(2, 4, 320, 20)) +
         node(1, "Input", measures(100, 0, 96, 0)) +
         node(3, "BatchNorm2d(3, eps=1e-05)", measures(0.25, 1, 320, 24)) +
         node(4, "ReLU(inplace)", measures(0.125, 0.5, 320, 0)) +
         node(9, "MaxPool2d(2)", measures(0.1, 0.2, 160, 0)) +
         node(10, "Size(0)", measures(0, 0, 4, 0)) + node(11, "View(5)", measures(0, 0, 160, 0)) +
         node(12, "Linear(in_features=5, out_features=10, bias=True)", measures(1, 3, 320, 240)) +
         "\tnode1 -- node2\n\tnode2 -- node3\n\tnode3 -- node4\n\tnode4 -- node5\n"
         "\tnode5 -- node6\r\n  node4 -- node6\n\n\tnode6 -- node9\n\tnode9 -- node10\n"
         "\tnode9 -- node11\n\tnode10 -- node11\n\tnode11 -- node12";
}

std::vector<std::string> names_of(const plan::Network& network) {
  std::vector<std::string> names;
  for (const plan::NetworkBlock& block : network.blocks) names.push_back(block.name);
  return names;
}

TEST(PublishedProfile, IsAGraphWithABlockForEveryNode) {
  const PublishedProfile profile = parse_published(residual(), "dir/small.txt");
  const plan::Network& network = profile.network;
  EXPECT_EQ(network.name, "small");
  EXPECT_EQ(profile.batch, 8);  // 320 bytes are 8 x 10 features
  ASSERT_THAT(names_of(network),
              ElementsAre("conv2d_2", "batchnorm2d_3", "relu_4", "conv2d_5", "add_6", "maxpool2d_9",
                          "size_10", "view_11", "linear_12"));
  std::vector<std::vector<int>> srcs;
  std::vector<std::int64_t> parameters;
  for (int i = 0; i < network.size(); ++i) {
    const plan::NetworkBlock& block = network.blocks[static_cast<std::size_t>(i)];
    srcs.push_back(block.srcs);
    parameters.push_back(block.parameters);
    EXPECT_EQ(block.dst, i + 1);
    EXPECT_EQ(block.inner_elements, 0);
    EXPECT_TRUE(block.spec.nodes.empty());
  }
  using Ints = std::vector<int>;
  EXPECT_THAT(srcs, ElementsAre(Ints{0}, Ints{1}, Ints{2}, Ints{3}, Ints{3, 4}, Ints{5}, Ints{6},
                                Ints{6, 7}, Ints{8}));
  EXPECT_THAT(parameters, ElementsAre(5, 6, 0, 10, 0, 0, 0, 0, 60));
  EXPECT_THAT(network.tensors, ElementsAre(3, 10, 10, 10, 10, 10, 5, 1, 5, 10));
  // add_6 writes the gradient of relu_4, conv2d_5 adds to it; view_11 and size_10 alike
  EXPECT_EQ(network.last_readers, plan::last_readers(network));
  EXPECT_FALSE(network.adds_gradient(4, 3));
  EXPECT_TRUE(network.adds_gradient(3, 3));
  EXPECT_TRUE(network.adds_gradient(6, 6));
}

TEST(PublishedProfile, AnEdgeThatOccursTwiceIsOne) {
  const std::string once = residual();
  const std::string twice = once + "\n\tnode4 -- node6\n";
  EXPECT_EQ(parse_published(once, "p").network, parse_published(twice, "p").network);
}

/// Two cells: node1 and the state (node2) are inputs, node4 and node9 are states that nobody reads,
/// node8 has three outputs.
std::string recurrent() {
  return node(1, "Input0", measures(0, 0, 0, 0)) + node(2, "hidden", measures(0, 0, 0, 0)) +
         node(3, "LSTM(4, 4)", measures(1, 2, 512, 64)) +
         node(4, "__getitem__(1)", measures(0, 0, 512, 0)) +
         node(5, "Dropout(p=0.2)", measures(0.5, 0.25, 512, 0)) +
         node(6, "__getitem__(0)", measures(0, 0, 0, 0)) +
         node(8, "LSTM(4, 4)",
              "forward_compute_time=1, backward_compute_time=2, activation_size=[512.0; 1024; 0], "
              "parameter_size=64") +
         node(9, "__getitem__(2)", measures(0, 0, 512, 0)) +
         node(10, "Stack", measures(0, 0, 512, 0)) + node(11, "Add", measures(0, 0, 512, 0)) +
         "node1 -- node3\nnode2 -- node3\nnode3 -- node4\nnode3 -- node5\nnode2 -- node6\n"
         "node6 -- node8\nnode5 -- node8\nnode8 -- node9\nnode9 -- node10\nnode8 -- node11\n"
         "node5 -- node11\n";
}

TEST(PublishedProfile, StatesOfRecurrentNetworksAreInputsOrUnread) {
  const PublishedProfile profile = parse_published(recurrent(), "p");
  EXPECT_THAT(names_of(profile.network),
              ElementsAre("lstm_3", "dropout_5", "node_6", "lstm_8", "add_11"));
  EXPECT_THAT(profile.network.tensors, ElementsAre(1, 1, 1, 1, 3, 1));
  EXPECT_EQ(profile.network.blocks[0].srcs, std::vector{0});  // two inputs are one tensor
  EXPECT_EQ(profile.network.blocks[3].srcs, (std::vector{2, 3}));
  EXPECT_EQ(profile.network.blocks[4].srcs, (std::vector{2, 4}));
}

TEST(PublishedProfile, CostsAreThePublishedOnesInProportion) {
  const auto cost = make_published_cost(parse_published(residual(), "dir/small.txt"));
  const BlockSeconds first = cost->block(0, 8);
  EXPECT_DOUBLE_EQ(first.forward, 2e-3);
  EXPECT_DOUBLE_EQ(first.backward_data, 4e-3 / 2);
  EXPECT_DOUBLE_EQ(first.backward_weights, 4e-3 / 2);
  EXPECT_EQ(first.update, 0);
  const BlockSeconds half_a_relu = cost->block(2, 4);
  EXPECT_DOUBLE_EQ(half_a_relu.forward, 0.5 * 0.125e-3);
  EXPECT_DOUBLE_EQ(half_a_relu.backward_data, 0.5 * 0.5e-3);
  EXPECT_EQ(half_a_relu.backward_weights, 0);
  EXPECT_DOUBLE_EQ(cost->block(4, 8).forward, 0.5e-3);
  EXPECT_EQ(cost->loss(8) + cost->load(8) + cost->sum(8, 2), 0);
  EXPECT_EQ(cost->contention(8), 1);
  EXPECT_EQ(cost->source(), "published profile dir/small.txt");
}

TEST(PublishedProfile, WithoutParametersAllOfBackwardIsForDataIfAnybodyWaitsForIt) {
  const std::string text =
      node(1, "Input", measures(1, 0, 512, 0)) + node(2, "ReLU", measures(1, 3, 1024, 0)) +
      node(3, "ReLU", measures(1, 5, 1024, 0)) + "\tnode1 -- node2\n\tnode2 -- node3\n";
  const PublishedProfile profile = parse_published(text, "p");
  ASSERT_EQ(profile.blocks.size(), 2U);
  EXPECT_EQ(profile.blocks[0].backward_data, 0);  // reads the input only
  EXPECT_DOUBLE_EQ(profile.blocks[1].backward_data, 5e-3);
  EXPECT_EQ(profile.blocks[1].backward_weights, 0);
}

TEST(PublishedProfile, WithoutALinearLayerTheBatchIsTheUsualOne) {
  const std::string text = node(1, "Input", measures(1, 0, 512, 0)) +
                           node(2, "ReLU", measures(1, 1, 1024, 0)) + "\tnode1 -- node2\n";
  const PublishedProfile profile = parse_published(text, "p");
  EXPECT_EQ(profile.batch, kPublishedBatch);
  EXPECT_THAT(profile.network.tensors, ElementsAre(1, 2));
}

TEST(PublishedProfile, SeveralInputsAreOne) {
  const std::string text =
      node(1, "Input0", measures(1, 0, 512, 0)) + node(2, "Input1", measures(1, 0, 1024, 0)) +
      node(3, "ReLU", measures(1, 1, 512, 0)) + node(4, "Add", measures(1, 1, 512, 0)) +
      node(5, "ReLU", measures(1, 1, 512, 0)) +
      "\tnode1 -- node3\n\tnode2 -- node4\n\tnode3 -- node4\n\tnode4 -- node5";
  const PublishedProfile profile = parse_published(text, "p");
  EXPECT_THAT(profile.network.tensors, ElementsAre(3, 1, 1, 1));
  EXPECT_EQ(profile.network.blocks[0].srcs, std::vector{0});
  EXPECT_EQ(profile.network.blocks[1].srcs, (std::vector{0, 1}));
}

/// Sums of the columns, without the line of the Input, and the number of the other nodes.
struct RealProfile {
  std::string name;
  double forward_ms;
  double backward_ms;
  std::int64_t batch;
  int blocks;
};

class RealProfiles : public testing::TestWithParam<RealProfile> {};

TEST_P(RealProfiles, TimesAndParametersAreAllThere) {
  const std::string path =
      PLAIT_SOURCE_DIR "/../shared/data/pipedream-profiles/" + GetParam().name + ".txt";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is not there";
  const PublishedProfile profile = read_published(path);
  const auto cost = make_published_cost(profile);
  EXPECT_EQ(profile.batch, GetParam().batch);
  EXPECT_EQ(profile.network.size(), GetParam().blocks);
  EXPECT_EQ(profile.network.input, tensor::Shape{3 * 224 * 224});
  EXPECT_EQ(profile.network.tensors.back(), 1000);
  double forward = 0;
  double backward = 0;
  for (int i = 0; i < profile.network.size(); ++i) {
    const BlockSeconds block = cost->block(i, profile.batch);
    forward += block.forward;
    backward += block.backward_data + block.backward_weights;
  }
  EXPECT_NEAR(1e3 * forward, GetParam().forward_ms, 1e-6);
  EXPECT_NEAR(1e3 * backward, GetParam().backward_ms, 1e-6);
}

INSTANTIATE_TEST_SUITE_P(PublishedProfile, RealProfiles,
                         testing::Values(RealProfile{"alexnet", 44.801, 40.520, 256, 22},
                                         RealProfile{"vgg16", 233.902, 438.633, 128, 40},
                                         RealProfile{"resnet18", 107.446, 152.296, 256, 70},
                                         RealProfile{"resnet50", 182.488, 260.931, 128, 176}),
                         [](const auto& one) { return one.param.name; });

}  // namespace
}  // namespace plait::cost
