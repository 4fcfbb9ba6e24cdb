// Tied weights in ONNX files: one stored tensor with several users is one parameter; tensors that
// an exporter stores once because they happen to be equal are not.
#include "graph/tied.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.hpp"
#include "onnx/example_models.hpp"
#include "onnx/match.hpp"
#include "onnx/onnx_testing.hpp"
#include "onnx/to_graph.hpp"
#include "onnx/to_model.hpp"

namespace plait::onnx {
namespace {

using onnx_graph::Graph;
using ::testing::HasSubstr;

graph::ModelSpec tied_model() { return graph::parse_model(kTied, "tied.toml", {}, 5); }

Graph tied_graph() { return to_onnx(tied_model(), lively_weights(tied_model()), "w"); }

ImportedModel read_tied(const Graph& graph) {
  return to_model(layers_of(graph, "t.onnx"), "t", "t.onnx");
}

std::int64_t stored_times(const Graph& graph, const std::string& name) {
  return std::ranges::count(graph.initializers, name, &checkpoint::NamedTensor::name);
}

const graph::Node& node_of(const graph::ModelSpec& model, const std::string& name) {
  for (const graph::BlockSpec& block : model.blocks) {
    for (const graph::Node& node : block.nodes) {
      if (graph::full_name(block, node) == name) return node;
    }
  }
  throw std::runtime_error("no " + name);
}

/// Every input `name` of later nodes becomes one of an Identity of it, as PyTorch writes it.
void through_identity(Graph& graph, const std::string& name) {
  std::size_t users = 0;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    for (std::string& input : graph.nodes[i].inputs) {
      if (input == name && users++ > 0) input = name + "_copy";
    }
  }
  graph.nodes.insert(graph.nodes.begin(), {.name = "same",
                                           .op = "Identity",
                                           .inputs = {name},
                                           .outputs = {name + "_copy"},
                                           .attributes = {}});
}

TEST(OnnxTied, OneTensorIsWrittenForAllUsers) {
  const Graph graph = tied_graph();
  EXPECT_EQ(stored_times(graph, "large.conv.weight"), 1);
  EXPECT_EQ(stored_times(graph, "small.conv.weight"), 0);
  EXPECT_EQ(stored_times(graph, "small.bn.running_mean"), 1);
  EXPECT_EQ(stored_times(graph, "small.bn.weight"), 0);
}

TEST(OnnxTied, UsersOfOneTensorShareItWhenRead) {
  Graph graph = tied_graph();
  for (const bool identity : {false, true}) {
    if (identity) through_identity(graph, "large.conv.weight");
    const ImportedModel other = read_tied(graph);
    EXPECT_EQ(node_of(other.model, "small.conv").weights, "large.conv") << identity;
    EXPECT_EQ(node_of(other.model, "up.up").weights, "large.conv") << identity;
    EXPECT_EQ(node_of(other.model, "fc2.linear").weights, "fc1.linear") << identity;
    EXPECT_EQ(
        std::ranges::count(other.weights, "large.conv.weight", &checkpoint::NamedTensor::name), 1);
    EXPECT_EQ(
        std::ranges::count(other.weights, "small.conv.weight", &checkpoint::NamedTensor::name), 0);
  }
}

/// As older exporters write them: then only the stored tensors have names to go by.
TEST(OnnxTied, NodesNeedNoNames) {
  Graph graph = tied_graph();
  int number = 0;
  for (onnx_graph::GraphNode& node : graph.nodes)
    node.name = fmt::format("{}_{}", node.op, number++);
  const ImportedModel other = read_tied(graph);
  const tensor::Tensor images = noise(tied_model().input.with_front(2));
  const std::vector<float> wanted = logits_of(tied_model(), lively_weights(tied_model()), images);
  const std::vector<float> logits = logits_of(other.model, other.weights, images);
  ASSERT_EQ(logits.size(), wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(logits[i], wanted[i], 1e-5) << i;
}

/// An embedding reads rows of the matrix, a linear layer on rows multiplies by the transposed one.
TEST(OnnxTied, AnEmbeddingAndALinearLayerShareOneMatrix) {
  const graph::ModelSpec model = graph::parse_model(R"(
input = [6]
input_type = "int32"
[[block]]
name = "embedding"
layers = [ {type = "embedding", vocabulary = 9, width = 4} ]
[[block]]
name = "rows"
layers = [ {type = "linear", out = 9, bias = false, weights = "embedding"}, {type = "flatten"} ]
[[block]]
name = "head"
layers = [ {type = "linear", out = "classes"} ]
)",
                                                    "ids.toml", {}, 5);
  const Graph graph = to_onnx(model, lively_weights(model), "w");
  EXPECT_EQ(stored_times(graph, "embedding.embedding.weight"), 1);
  const ImportedModel other = read_tied(graph);
  EXPECT_THAT(graph::write_model(other.model), HasSubstr("weights = \"embedding"));
  EXPECT_EQ(other.weights.size(), lively_weights(model).size());
}

/// A batch_norm used twice: the running statistics of both places remain.
TEST(OnnxTied, BatchNormsShareWeightsButNoStatistics) {
  const ImportedModel other = read_tied(tied_graph());
  EXPECT_EQ(node_of(other.model, "small.bn").weights, "stem.bn");
  const auto count = [&](const std::string& name) {
    return std::ranges::count(other.weights, name, &checkpoint::NamedTensor::name);
  };
  EXPECT_EQ(count("small.bn.weight"), 0);
  EXPECT_EQ(count("small.bn.running_mean"), 1);
  EXPECT_THAT(other.notes, ::testing::IsEmpty());
}

/// What is the same by name is the same; what an Identity passes on may only be equal.
TEST(OnnxTied, ConstantsBehindAnIdentityAreOnlyEqual) {
  Graph graph = tied_graph();
  for (checkpoint::NamedTensor& one : graph.initializers) {
    if (one.name == "large.conv.weight") std::ranges::fill(one.tensor.floats(), 0.0F);
  }
  const ImportedModel named = read_tied(graph);
  EXPECT_EQ(node_of(named.model, "small.conv").weights, "large.conv");
  EXPECT_THAT(named.notes, ::testing::ElementsAre("'small.conv' and 'up.up' use the weights of "
                                                  "'large.conv', because they read the same "
                                                  "tensors"));
  through_identity(graph, "large.conv.weight");
  const ImportedModel copied = read_tied(graph);
  EXPECT_EQ(node_of(copied.model, "small.conv").weights, "");
}

TEST(OnnxTied, ABiasOfItsOwnKeepsACopyOfTheMatrix) {
  Graph graph = tied_graph();
  const auto bias =
      std::ranges::find(graph.initializers, "large.conv.bias", &checkpoint::NamedTensor::name);
  tensor::Tensor other(bias->tensor.shape());
  graph.initializers.push_back({"other.bias", std::move(other)});
  for (onnx_graph::GraphNode& node : graph.nodes) {
    if (node.name == "small.conv") node.inputs[2] = "other.bias";
  }
  const ImportedModel imported = read_tied(graph);
  EXPECT_EQ(node_of(imported.model, "small.conv").weights, "");
  EXPECT_THAT(
      imported.notes,
      ::testing::ElementsAre(
          "'large.conv' and 'small.conv' read the same tensor 'large.conv.weight'; they are "
          "trained apart, because plait shares all weights of a layer or none, and their "
          "biases differ"));
}

TEST(OnnxTied, AModelWithTiedWeightsTakesEqualOnesOnly) {
  const graph::ModelSpec model = tied_model();
  Graph graph = tied_graph();
  const MatchedWeights back = match_weights(model, layers_of(graph, "t.onnx"), "t.onnx");
  EXPECT_EQ(back.tensors.size(), lively_weights(model).size());
  const auto found =
      std::ranges::find(graph.initializers, "fc1.linear.weight", &checkpoint::NamedTensor::name);
  ASSERT_NE(found, graph.initializers.end());
  tensor::Tensor other(found->tensor.shape());
  graph.initializers.push_back({"other", std::move(other)});
  for (onnx_graph::GraphNode& node : graph.nodes) {
    if (!node.name.starts_with("fc2")) continue;
    for (std::string& input : node.inputs) {
      if (input == "fc1.linear.weight") input = "other";
    }
  }
  EXPECT_THAT(
      [&] { match_weights(model, layers_of(graph, "t.onnx"), "t.onnx"); },
      ::testing::ThrowsMessage<UserError>(HasSubstr("'fc1.linear.weight' and 'fc2.linear.weight' "
                                                    "differ in the file, but the model has one")));
}

TEST(OnnxTied, FilesWithBothNamesMustHaveEqualValues) {
  const graph::ModelSpec model = tied_model();
  std::vector<checkpoint::NamedTensor> weights = lively_weights(model);
  const tensor::Tensor images = noise(model.input.with_front(2));
  const std::vector<float> wanted = logits_of(model, weights, images);
  const auto owner =
      std::ranges::find(weights, "fc1.linear.weight", &checkpoint::NamedTensor::name);
  tensor::Tensor copy(owner->tensor.shape());
  std::ranges::copy(owner->tensor.floats(), copy.floats().begin());
  weights.push_back({"fc2.linear.weight", std::move(copy)});
  EXPECT_EQ(logits_of(model, weights, images), wanted);
  weights.back().tensor.floats()[3] += 1;
  EXPECT_THAT([&] { logits_of(model, weights, images); },
              ::testing::ThrowsMessage<UserError>(HasSubstr(
                  "tensors 'fc1.linear.weight' and 'fc2.linear.weight' differ, but the model has "
                  "one for both")));
}

}  // namespace
}  // namespace plait::onnx
