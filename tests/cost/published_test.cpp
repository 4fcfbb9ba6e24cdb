// Published profiles: a made-up residual graph by hand, the real files where they are, and a table
// of files that are refused.
#include "cost/published.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "cost/cost_testing.hpp"

namespace plait::cost {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

std::string node(int number, const std::string& description, const std::string& measures) {
  return fmt::format("node{} -- {} -- {}\n", number, description, measures);
}

std::string measures(double forward, double backward, double activation, double parameters) {
  return fmt::format(
      "forward_compute_time={:.3f}, backward_compute_time={:.3f}, activation_size={:.3f}, "
      "parameter_size={:.3f}",
      forward, backward, activation, parameters);
}

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

TEST(PublishedProfile, IsAChainOfBlocksThatBeginWithAMatrix) {
  const PublishedProfile profile = parse_published(residual(), "dir/small.txt");
  const plan::Network& network = profile.network;
  EXPECT_EQ(network.name, "small");
  EXPECT_EQ(profile.batch, 8);  // 320 bytes are 8 x 10 features
  for (int i = 0; i < network.size(); ++i) {
    const plan::NetworkBlock& block = network.blocks[static_cast<std::size_t>(i)];
    EXPECT_EQ(block.srcs, std::vector{i});
    EXPECT_EQ(block.dst, i + 1);
    EXPECT_TRUE(block.spec.nodes.empty());
  }
  ASSERT_THAT(names_of(network), ElementsAre("conv2d_2..relu_4", "conv2d_5..view_11", "linear_12"));
  // the skip of node4 begins at a border and ends inside a block: it crosses no border but its own
  EXPECT_THAT(network.tensors, ElementsAre(3, 10, 5, 10));
  EXPECT_EQ(network.blocks[0].parameters, (20 + 24) / 4);
  EXPECT_EQ(network.blocks[0].inner_elements, 10 + 10);
  EXPECT_EQ(network.blocks[1].parameters, 40 / 4);
  EXPECT_EQ(network.blocks[1].inner_elements, 10 + 10 + 5 + 1);
  EXPECT_EQ(network.blocks[2].parameters, 240 / 4);
  EXPECT_EQ(network.blocks[2].inner_elements, 0);
  EXPECT_EQ(network.parameters(), (40 + 20 + 24 + 240) / 4);
}

TEST(PublishedProfile, ASkipCrossesEveryBorderItSpans) {
  // Batch 8. node2 (6 numbers a sample) is read by node3 and node5; node3 has 10, node4 has 3.
  const std::string text =
      node(1, "Input", measures(1, 0, 96, 0)) + node(2, "Conv2d(1)", measures(1, 2, 192, 20)) +
      node(3, "Conv2d(2)", measures(1, 2, 320, 40)) + node(4, "Conv2d(3)", measures(1, 2, 96, 8)) +
      node(5, "Add", measures(1, 2, 192, 0)) +
      node(6, "Linear(in_features=6, out_features=10)", measures(1, 2, 320, 240)) +
      "\tnode1 -- node2\n\tnode2 -- node3\n\tnode3 -- node4\n\tnode4 -- node5\n"
      "\tnode2 -- node5\n\tnode5 -- node6\n";
  const plan::Network network = parse_published(text, "p").network;
  ASSERT_THAT(names_of(network),
              ElementsAre("conv2d_2", "conv2d_3", "conv2d_4..add_5", "linear_6"));
  EXPECT_THAT(network.tensors, ElementsAre(3, 6, 10 + 6, 6, 10));
  EXPECT_EQ(network.blocks[1].inner_elements, 0);
  EXPECT_EQ(network.blocks[2].inner_elements, 3);
}

TEST(PublishedProfile, WhatComesBeforeTheFirstMatrixIsABlockOfItsOwn) {
  const std::string text = node(1, "Input", measures(1, 0, 512, 0)) +
                           node(2, "ReLU", measures(1, 3, 512, 0)) +
                           node(3, "LayerNorm(4)", measures(1, 1, 512, 8)) +
                           node(4, "Embedding(9, 4)", measures(1, 1, 1024, 36)) +
                           "\tnode1 -- node2\n\tnode2 -- node3\n\tnode3 -- node4\n";
  const PublishedProfile profile = parse_published(text, "p");
  ASSERT_THAT(names_of(profile.network), ElementsAre("relu_2..layernorm_3", "embedding_4"));
  EXPECT_EQ(profile.network.blocks[0].parameters, 2);
}

TEST(PublishedProfile, CostsAreThePublishedOnesInProportion) {
  const auto cost = make_published_cost(parse_published(residual(), "dir/small.txt"));
  const BlockSeconds first = cost->block(0, 8);
  EXPECT_DOUBLE_EQ(first.forward, (2 + 0.25 + 0.125) * 1e-3);
  EXPECT_DOUBLE_EQ(first.backward_data, (4 + 1 + 0.5) * 1e-3 / 2);
  EXPECT_DOUBLE_EQ(first.backward_weights, (4 + 1 + 0.5) * 1e-3 / 2);
  EXPECT_EQ(first.update, 0);
  const BlockSeconds residual_half = cost->block(1, 4);
  EXPECT_DOUBLE_EQ(residual_half.forward, 0.5 * (3 + 0.5 + 0.1) * 1e-3);
  EXPECT_DOUBLE_EQ(residual_half.backward_data, 0.25 * (5 + 0.2) * 1e-3);
  EXPECT_DOUBLE_EQ(residual_half.backward_weights, residual_half.backward_data);
  EXPECT_EQ(cost->loss(8) + cost->load(8) + cost->sum(8, 2), 0);
  EXPECT_EQ(cost->contention(8), 1);
  EXPECT_EQ(cost->source(), "published profile dir/small.txt");
}

TEST(PublishedProfile, WithoutParametersAllOfBackwardIsForData) {
  const std::string text = node(1, "Input", measures(1, 0, 512, 0)) +
                           node(2, "ReLU", measures(1, 3, 1024, 0)) + "\tnode1 -- node2\n";
  const PublishedProfile profile = parse_published(text, "p");
  ASSERT_EQ(profile.blocks.size(), 1U);
  EXPECT_DOUBLE_EQ(profile.blocks[0].backward_data, 3e-3);
  EXPECT_EQ(profile.blocks[0].backward_weights, 0);
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
  EXPECT_THAT(profile.network.tensors, ElementsAre(3, 1));
  EXPECT_THAT(names_of(profile.network), ElementsAre("relu_3..relu_5"));
}

struct BadPublished {
  std::string name;
  std::string text;
  std::string message;
};

class BadPublishedFiles : public testing::TestWithParam<BadPublished> {};

TEST_P(BadPublishedFiles, AreRefusedInOneLineWithTheFilesName) {
  const std::string message = refusal([] { parse_published(GetParam().text, "dir/p.txt"); });
  EXPECT_THAT(message, StartsWith("dir/p.txt:"));
  EXPECT_THAT(message, HasSubstr(GetParam().message));
  EXPECT_THAT(message, testing::Not(HasSubstr("\n")));
}

const std::string kGood = measures(1, 1, 512, 0);
const std::string kInput = node(1, "Input", kGood);

INSTANTIATE_TEST_SUITE_P(
    PublishedProfile, BadPublishedFiles,
    testing::Values(
        BadPublished{"Empty", "", "contains no nodes"},
        BadPublished{"OtherText", kInput + "loss 3\n", "p.txt:2: 'loss 3' is neither"},
        BadPublished{"BadName", "layer1 -- ReLU -- " + kGood, "'layer1' is not the name of a node"},
        BadPublished{"NoNumber", "node -- ReLU -- " + kGood, "'node' is not the name"},
        BadPublished{"HugeNumber", "node99999999999 -- ReLU -- " + kGood, "is not the name"},
        BadPublished{"NoEquals", node(1, "Input", "forward"),
                     "'forward' is not of the form key=number"},
        BadPublished{"UnknownKey", node(1, "Input", kGood + ", colour=3"), "unknown key 'colour'"},
        BadPublished{"KeyTwice", node(1, "Input", kGood + ", parameter_size=3"),
                     "parameter_size occurs twice"},
        BadPublished{"KeyMissing", node(1, "Input", "forward_compute_time=1"),
                     "backward_compute_time is missing"},
        BadPublished{"Negative", node(1, "Input", measures(-1, 1, 1, 1)),
                     "forward_compute_time is -1"},
        BadPublished{"Nan",
                     node(1, "Input",
                          "forward_compute_time=nan, backward_compute_time=1, activation_size=1, "
                          "parameter_size=1"),
                     "forward_compute_time is nan"},
        BadPublished{"Huge", node(1, "Input", measures(1, 1, 1e15, 1)),
                     "activation_size is 1000000000000000;"},
        BadPublished{
            "NoNumberAtAll",
            node(1, "Input",
                 "forward_compute_time=1, backward_compute_time=1, activation_size=[1; 2], "
                 "parameter_size=1"),
            "activation_size is '[1; 2]', not a number"},
        BadPublished{"NodeTwice", kInput + kInput, "p.txt:2: node1 occurs twice"},
        BadPublished{"UnknownEdge", kInput + "\tnode1 -- node7\n",
                     "p.txt:2: an edge of node7, which has no line"},
        BadPublished{"OnlyInput", kInput, "contains only an Input"},
        BadPublished{"NoInput", node(1, "ReLU", kGood), "node1 has no incoming edge"},
        BadPublished{"TwoEnds",
                     kInput + node(2, "ReLU", kGood) + node(3, "ReLU", kGood) +
                         "\tnode1 -- node2\n\tnode1 -- node3\n",
                     "node2 and node3"},
        BadPublished{"Circle",
                     kInput + node(2, "ReLU", kGood) + node(3, "ReLU", kGood) +
                         node(4, "ReLU", kGood) +
                         "\tnode1 -- node2\n\tnode2 -- node3\n\tnode3 -- node2\n\tnode3 -- node4\n",
                     "cycle through node2"},
        BadPublished{"AllCircle",
                     node(2, "ReLU", kGood) + node(3, "ReLU", kGood) +
                         "\tnode2 -- node3\n\tnode3 -- node2\n",
                     "there is no Input node"},
        BadPublished{"IntoInput",
                     kInput + node(2, "ReLU", kGood) + "\tnode1 -- node2\n\tnode2 -- node1\n",
                     "node1 is an Input but has an incoming edge"}),
    [](const auto& one) { return one.param.name; });

/// Sums of the columns, without the line of the Input. One block for each Conv2d and Linear.
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
                         testing::Values(RealProfile{"alexnet", 44.801, 40.520, 256, 8},
                                         RealProfile{"vgg16", 233.902, 438.633, 128, 16},
                                         RealProfile{"resnet18", 107.446, 152.296, 256, 21},
                                         RealProfile{"resnet50", 182.488, 260.931, 128, 54}),
                         [](const auto& one) { return one.param.name; });

}  // namespace
}  // namespace plait::cost
