// What is one tensor in PyTorch and several in an ONNX file, or the other way round: tied where
// plait can, and one line where it cannot, or where only values say so.
#include "onnx/shared.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "onnx/onnx_testing.hpp"
#include "onnx/to_graph.hpp"
#include "onnx/to_model.hpp"
#include "onnx/turned.hpp"

namespace plait::onnx {
namespace {

using onnx_graph::Graph;
using onnx_graph::GraphNode;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// An embedding and a linear layer that multiplies by what would be its transposed matrix.
Graph language_graph(const std::string& linear) {
  const graph::ModelSpec model = graph::parse_model(R"(
input = [6]
input_type = "int32"
[[block]]
name = "words"
layers = [ {name = "e", type = "embedding", vocabulary = 9, width = 4} ]
[[block]]
name = "rows"
layers = [ )" + linear + R"(, {type = "flatten"} ]
[[block]]
name = "head"
layers = [ {type = "linear", out = "classes"} ]
)",
                                                    "ids.toml", {}, 5);
  return to_onnx(model, lively_weights(model), "w");
}

tensor::Tensor& stored_values(Graph& graph, const std::string& name) {
  return std::ranges::find(graph.initializers, name, &checkpoint::NamedTensor::name)->tensor;
}

ImportedModel shared_model(const Graph& graph) {
  return to_model(layers_of(graph, "t.onnx"), "t", "t.onnx");
}

/// "rows.o = words.e": who uses whose weights.
std::vector<std::string> ties_of(const graph::ModelSpec& model) {
  std::vector<std::string> ties;
  for (const graph::BlockSpec& block : model.blocks) {
    for (const graph::Node& node : block.nodes) {
      if (!node.weights.empty())
        ties.push_back(graph::full_name(block, node) + " = " + node.weights);
    }
  }
  return ties;
}

TEST(OnnxShared, ATransposeThatWasFoldedIsItsMatrix) {
  Graph graph = language_graph(R"({name = "o", type = "linear", out = 9, bias = false})");
  tensor::Tensor& table = stored_values(graph, "words.e.weight");
  stored_values(graph, "rows.o.weight") = turned(table);
  const ImportedModel tied = shared_model(graph);
  EXPECT_THAT(ties_of(tied.model), ElementsAre("rows.o = words.e"));
  EXPECT_THAT(tied.notes,
              ElementsAre("'rows.o' uses the weights of 'words.e', because their values "
                          "are equal in the file"));
  stored_values(graph, "rows.o.weight").floats()[7] += 1e-6F;
  EXPECT_THAT(ties_of(shared_model(graph).model), IsEmpty());
  EXPECT_THAT(shared_model(graph).notes, IsEmpty());
  std::ranges::fill(stored_values(graph, "rows.o.weight").floats(), 0.0F);
  std::ranges::fill(table.floats(), 0.0F);
  EXPECT_THAT(ties_of(shared_model(graph).model), IsEmpty()) << "zeros are equal by chance";
}

TEST(OnnxShared, ABiasKeepsAFoldedTransposeApart) {
  Graph graph = language_graph(R"({name = "o", type = "linear", out = 9})");
  stored_values(graph, "rows.o.weight") = turned(stored_values(graph, "words.e.weight"));
  const ImportedModel apart = shared_model(graph);
  EXPECT_THAT(ties_of(apart.model), IsEmpty());
  EXPECT_THAT(apart.notes,
              ElementsAre("'words.e' and 'rows.o' have equal weights, 'words.e.weight' and "
                          "'rows.o.weight'; they are trained apart, because only one of them has a "
                          "bias"));
}

/// Folding gives every use of a linear layer on rows a matrix of its own, but one bias.
TEST(OnnxShared, AFoldedMatrixWithOneBiasIsOneLayer) {
  Graph graph = language_graph(
      R"({name = "a", type = "linear", out = 4}, {type = "tanh"}, {name = "b", type = "linear", out = 4})");
  stored_values(graph, "rows.b.weight") = stored_values(graph, "rows.a.weight");
  stored_values(graph, "rows.b.bias") = stored_values(graph, "rows.a.bias");
  EXPECT_THAT(ties_of(shared_model(graph).model), IsEmpty()) << "copies that are equal";
  for (GraphNode& node : graph.nodes) {
    std::ranges::replace(node.inputs, std::string("rows.b.bias"), std::string("rows.a.bias"));
  }
  EXPECT_THAT(ties_of(shared_model(graph).model), ElementsAre("rows.b = rows.a"));
}

Graph graph_of_rows(std::vector<GraphNode> nodes) {
  return {.name = "shared",
          .opset = 17,
          .nodes = std::move(nodes),
          .initializers = {},
          .inputs = {{"x", {onnx_graph::kSymbolic, 3}}},
          .outputs = {{"y", {}}}};
}

GraphNode named_node(std::string op, std::vector<std::string> inputs, std::string output,
                     std::vector<onnx_graph::Attribute> attributes = {}) {
  return {.name = "m." + output,
          .op = std::move(op),
          .inputs = std::move(inputs),
          .outputs = {std::move(output)},
          .attributes = std::move(attributes)};
}

TEST(OnnxShared, OneLayerNormUsedTwiceIsOne) {
  Graph graph = graph_of_rows({named_node("LayerNormalization", {"x", "n.w", "n.b"}, "a"),
                               named_node("Tanh", {"a"}, "b"),
                               named_node("LayerNormalization", {"b", "n.w", "n.b"}, "y")});
  graph.initializers = {{"n.w", noise({3})}, {"n.b", noise({3})}};
  EXPECT_THAT(ties_of(shared_model(graph).model), ElementsAre("m.y = m.a"));
  EXPECT_THAT(shared_model(graph).notes, IsEmpty());
  graph.nodes[2].inputs[2] = "other";
  graph.initializers.push_back({"other", noise({3})});
  EXPECT_THAT(ties_of(shared_model(graph).model), IsEmpty());
  EXPECT_THAT(shared_model(graph).notes,
              ElementsAre("'m.a' and 'm.y' read the same tensor 'n.w'; they are trained apart, "
                          "because plait shares all weights of a layer or none, and their biases "
                          "differ"));
}

TEST(OnnxShared, ALayerNormWithoutABiasIsOneToo) {
  Graph graph = graph_of_rows({named_node("LayerNormalization", {"x", "n.w"}, "a"),
                               named_node("Tanh", {"a"}, "b"),
                               named_node("LayerNormalization", {"b", "n.w"}, "y")});
  graph.initializers = {{"n.w", noise({3})}};
  EXPECT_THAT(ties_of(shared_model(graph).model), ElementsAre("m.y = m.a"));
}

TEST(OnnxShared, AMatrixAndItsTransposeAreTold) {
  const std::vector<onnx_graph::Attribute> turned_weight{{"transB", std::int64_t{1}}};
  Graph graph = graph_of_rows(
      {named_node("Gemm", {"x", "w"}, "a", turned_weight), named_node("Gemm", {"a", "w"}, "y")});
  for (const tensor::Shape& shape : {tensor::Shape{5, 3}, tensor::Shape{3, 3}}) {
    graph.initializers = {{"w", noise(shape)}};
    EXPECT_THAT(ties_of(shared_model(graph).model), IsEmpty());
    EXPECT_THAT(shared_model(graph).notes,
                ElementsAre("'m.a' and 'm.y' read the same tensor 'w'; they are trained apart, "
                            "because plait shares all weights of a layer or none, and one of them "
                            "reads it transposed"));
  }
  graph.nodes[1] = named_node("Gemm", {"a", "folded"}, "y", turned_weight);
  graph.initializers.push_back({"folded", turned(graph.initializers[0].tensor)});
  EXPECT_THAT(shared_model(graph).notes,
              ElementsAre("'m.a' and 'm.y' have equal weights, 'w' and 'folded'; they are trained "
                          "apart, because one of them has them transposed"));
}

/// Bits alone would say that a symmetric matrix is its transpose.
TEST(OnnxShared, ASymmetricMatrixIsNotItsTranspose) {
  Graph graph = graph_of_rows({named_node("Gemm", {"x", "w"}, "a", {{"transB", std::int64_t{1}}}),
                               named_node("Gemm", {"a", "w"}, "y")});
  tensor::Tensor unit(tensor::Shape{3, 3});
  for (const std::size_t i : {0U, 4U, 8U}) unit.floats()[i] = 1;
  graph.initializers = {{"w", std::move(unit)}};
  EXPECT_THAT(ties_of(shared_model(graph).model), IsEmpty());
}

TEST(OnnxShared, OnlyABiasIsTold) {
  Graph graph = graph_of_rows(
      {named_node("Gemm", {"x", "w", "b"}, "a"), named_node("Gemm", {"a", "v", "b"}, "y")});
  graph.initializers = {{"w", noise({3, 3})}, {"v", noise({3, 3})}, {"b", noise({3})}};
  graph.initializers[1].tensor.floats()[0] += 1;
  EXPECT_THAT(ties_of(shared_model(graph).model), IsEmpty());
  EXPECT_THAT(
      shared_model(graph).notes,
      ElementsAre("'m.a' and 'm.y' read the same tensor 'b'; they are trained apart, because "
                  "plait shares all weights of a layer or none, and they share only a bias"));
}

TEST(OnnxShared, WhatTheFileDoesNotTrainIsTold) {
  Graph graph =
      graph_of_rows({named_node("Constant", {}, "one", {{"value", noise({3})}}),
                     named_node("Constant", {}, "zero", {{"value", tensor::Tensor({3})}}),
                     named_node("BatchNormalization", {"x", "one", "zero", "zero", "one"}, "y")});
  EXPECT_THAT(shared_model(graph).notes,
              ElementsAre("node 'm.y' (BatchNormalization): its weight and bias are fixed in the "
                          "file, but plait's batch_norm trains them"));
  graph.nodes = {named_node("LayerNormalization", {"x", "w"}, "y")};
  graph.initializers = {{"w", noise({3})}};
  EXPECT_THAT(shared_model(graph).notes,
              ElementsAre("node 'm.y' (LayerNormalization): it has no bias in the file; plait's "
                          "layer_norm has one, which is trained from 0"));
}

}  // namespace
}  // namespace plait::onnx
