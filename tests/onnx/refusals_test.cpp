// What the importer refuses, each with one line that names the file and the node.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "base/error.hpp"
#include "onnx/onnx_testing.hpp"
#include "onnx/to_graph.hpp"
#include "onnx/to_model.hpp"

namespace plait::onnx {
namespace {

using onnx_graph::Graph;
using onnx_graph::GraphNode;
using ::testing::HasSubstr;

tensor::Tensor integers(std::vector<std::int64_t> values) {
  tensor::Tensor tensor(tensor::Shape{std::ssize(values)}, tensor::DType::i64);
  std::ranges::copy(values, tensor.as<std::int64_t>().begin());
  return tensor;
}

/// x of 4x6x6 through the nodes, which write y.
Graph small_graph(std::vector<GraphNode> nodes) {
  return {.name = "small",
          .opset = 13,
          .nodes = std::move(nodes),
          .initializers = {},
          .inputs = {{"x", {onnx_graph::kSymbolic, 4, 6, 6}}},
          .outputs = {{"y", {onnx_graph::kSymbolic, 4}}}};
}

GraphNode graph_node(std::string op, std::vector<std::string> inputs, std::string output,
                     std::vector<onnx_graph::Attribute> attributes = {}) {
  return {.name = "n_" + output,
          .op = std::move(op),
          .inputs = std::move(inputs),
          .outputs = {std::move(output)},
          .attributes = std::move(attributes)};
}

std::string refusal_of(const Graph& graph) {
  try {
    to_model(layers_of(graph, "t.onnx"), "t", "t.onnx");
  } catch (const UserError& error) {
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
    return error.what();
  }
  return "taken";
}

TEST(OnnxRefusals, NameAllUnknownOperatorsAtOnce) {
  const Graph graph =
      small_graph({graph_node("Elu", {"x"}, "a"), graph_node("Elu", {"a"}, "b"),
                   graph_node("Sqrt", {"b"}, "c"), graph_node("Relu", {"c"}, "d"),
                   graph_node("Div", {"d", "c"}, "e"), graph_node("com.me::Own", {"e"}, "y")});
  EXPECT_EQ(refusal_of(graph),
            "t.onnx: plait has no layer for these nodes: Elu ('n_a' and 1 more), Sqrt ('n_c'), "
            "com.me::Own ('n_y')");
}

TEST(OnnxRefusals, NameArithmeticThatIsNoLayer) {
  EXPECT_EQ(refusal_of(small_graph({graph_node("Div", {"x", "x"}, "y")})),
            "t.onnx: node 'n_y' (Div): plait has no layer for it");
}

TEST(OnnxRefusals, SayWhichOperandIsAConstant) {
  const auto with = [](const std::string& op, std::vector<std::string> inputs) {
    Graph graph = small_graph({graph_node(op, std::move(inputs), "y")});
    graph.initializers = {{"c", noise({4, 6, 6})}, {"one", noise(tensor::Shape{})}};
    return refusal_of(graph);
  };
  EXPECT_EQ(with("Add", {"x", "c"}),
            "t.onnx: node 'n_y' (Add): adds a constant of 4x6x6, but plait's add takes computed "
            "tensors");
  EXPECT_THAT(with("Sub", {"one", "x"}), HasSubstr("(Sub): subtracts a constant number, but"));
  EXPECT_THAT(with("Mul", {"x", "c"}), HasSubstr("multiplies by a constant of 4x6x6, but plait's "
                                                 "multiply takes computed tensors"));
  EXPECT_THAT(with("Div", {"x", "one"}),
              HasSubstr("divides by a constant number, which plait has no layer for"));
  EXPECT_THAT(with("Concat", {"x", "x", "c"}), HasSubstr("concatenates a constant of 4x6x6"));
  EXPECT_THAT(with("Relu", {"c"}), HasSubstr("its input is a constant of 4x6x6"));
}

TEST(OnnxRefusals, SayWhichAxis) {
  const auto along = [](const std::string& op, std::int64_t axis) {
    return refusal_of(small_graph({graph_node(op, {"x", "x"}, "y", {{"axis", axis}})}));
  };
  EXPECT_EQ(along("Concat", 2),
            "t.onnx: node 'n_y' (Concat): concatenates along axis 2, but plait's concat joins "
            "channels, axis 1");
  EXPECT_EQ(along("Concat", -3), "taken");
  EXPECT_THAT(along("Flatten", 2), HasSubstr("flattens from axis 2 on"));
  EXPECT_THAT(refusal_of(small_graph({graph_node("ReduceMean", {"x"}, "y",
                                                 {{"axes", std::vector<std::int64_t>{1}}})})),
              HasSubstr("is the mean over axes [1]"));
}

TEST(OnnxRefusals, NameNodesBehindThoseThatAreRefused) {
  const std::vector<onnx_graph::Attribute> order{{"perm", std::vector<std::int64_t>{0, 2, 3, 1}}};
  EXPECT_EQ(refusal_of(small_graph(
                {graph_node("Transpose", {"x"}, "a", order), graph_node("Relu", {"a"}, "b"),
                 graph_node("Transpose", {"b"}, "c", order), graph_node("Elu", {"c"}, "y")})),
            "t.onnx: plait cannot read these nodes: Transpose ('n_a' and 1 more: orders the axes "
            "as [0, 2, 3, 1], but plait transposes only in a channel shuffle), Elu ('n_y')");
}

TEST(OnnxRefusals, OfASoftmaxAtTheEndPointToTheLoss) {
  for (const std::string op : {"Softmax", "LogSoftmax"}) {
    EXPECT_EQ(refusal_of(small_graph({graph_node("Relu", {"x"}, "a"), graph_node(op, {"a"}, "y")})),
              "t.onnx: node 'n_y' (" + op +
                  "): plait's loss contains it already, so save the network without it");
    EXPECT_THAT(
        refusal_of(small_graph({graph_node(op, {"x"}, "a"), graph_node("Relu", {"a"}, "y")})),
        HasSubstr("plait has no layer for it"));
  }
}

/// ONNX would multiply by one factor for each column.
TEST(OnnxRefusals, OfFactorsWithFewerAxesThanTheImage) {
  Graph graph =
      small_graph({graph_node("GlobalAveragePool", {"x"}, "g"), graph_node("Flatten", {"g"}, "f"),
                   graph_node("Mul", {"x", "f"}, "y")});
  for (const bool swapped : {false, true}) {
    if (swapped) std::swap(graph.nodes[2].inputs[0], graph.nodes[2].inputs[1]);
    EXPECT_EQ(
        refusal_of(graph),
        "t.onnx: node 'n_y' (Mul): multiplies samples of 4x6x6 by 4, which ONNX lines up at "
        "the last axes; plait's multiply takes a factor for each channel, 4x1x1 (export again "
        "what an earlier plait wrote)");
  }
  graph.nodes[2].inputs = {"u", "x"};
  graph.nodes.insert(graph.nodes.begin() + 2, graph_node("Reshape", {"f", "s"}, "u"));
  graph.initializers = {{"s", integers({0, 4, 1, 1})}};
  EXPECT_EQ(refusal_of(graph), "taken");
}

/// A name may be empty, and then what is behind it is not read either.
TEST(OnnxRefusals, OfTooFewInputs) {
  for (const char* op : {"Mul", "Add", "Sub"}) {
    for (const std::vector<std::string>& inputs :
         std::vector<std::vector<std::string>>{{}, {"", "r"}, {"r"}}) {
      const Graph graph =
          small_graph({graph_node("Relu", {"x"}, "r"), graph_node(op, inputs, "y")});
      EXPECT_THAT(refusal_of(graph), HasSubstr("'n_y'")) << op << inputs.size();
    }
  }
}

TEST(OnnxRefusals, OfCyclesAndUnknownNames) {
  EXPECT_EQ(
      refusal_of(small_graph({graph_node("Add", {"x", "b"}, "a"), graph_node("Relu", {"a"}, "b"),
                              graph_node("Relu", {"b"}, "y")})),
      "t.onnx: node 'n_a' (Add): no earlier node writes 'b', but 'n_b' does: a cycle, or nodes "
      "out of order");
  EXPECT_EQ(
      refusal_of(small_graph({graph_node("Identity", {"a"}, "a")})),
      "t.onnx: node 'n_a' (Identity): no earlier node writes 'a', but 'n_a' does: a cycle, or "
      "nodes out of order");
  EXPECT_EQ(refusal_of(small_graph({graph_node("Relu", {"z"}, "y")})),
            "t.onnx: node 'n_y' (Relu): no earlier node writes 'z'");
  EXPECT_EQ(refusal_of(small_graph({graph_node("Relu", {"x"}, "z")})),
            "t.onnx: no node writes the output 'y'");
  EXPECT_EQ(
      refusal_of(small_graph({graph_node("Relu", {"x"}, "y"), graph_node("Relu", {"x"}, "y")})),
      "t.onnx: node 'n_y' (Relu): 'y' is written twice");
}

TEST(OnnxRefusals, OfAbsurdSizes) {
  Graph graph = small_graph({graph_node("Relu", {"x"}, "y")});
  EXPECT_EQ(refusal_of(graph), "taken");
  for (const std::int64_t large :
       {std::int64_t{1} << 41, std::numeric_limits<std::int64_t>::max()}) {
    graph.inputs[0].dims = {onnx_graph::kSymbolic, 4, large, large};
    EXPECT_THAT(refusal_of(graph), HasSubstr("t.onnx: its input 4x"));
  }
  graph = small_graph({graph_node("Reshape", {"x", "s"}, "y")});
  for (const std::int64_t odd :
       {std::numeric_limits<std::int64_t>::max(), std::int64_t{-7}, std::int64_t{5}}) {
    graph.initializers = {{"s", integers({-1, odd, 1 << 20})}};
    EXPECT_THAT(refusal_of(graph), HasSubstr("t.onnx: node 'n_y' (Reshape): "));
  }
}

TEST(OnnxRefusals, OfShapesThatMixSamples) {
  Graph graph = small_graph({graph_node("Reshape", {"x", "s"}, "y")});
  graph.initializers = {{"s", integers({-1, 72})}};
  EXPECT_THAT(refusal_of(graph), HasSubstr("mixes with the batch"));
  graph.initializers = {{"s", integers({-1, 144})}};
  EXPECT_EQ(refusal_of(graph), "taken");
  graph.initializers = {{"s", integers({3, -1})}};  // a file for three samples
  EXPECT_EQ(refusal_of(graph), "taken");
}

TEST(OnnxRefusals, OfSlicesThatAreNone) {
  Graph graph = small_graph({graph_node("Slice", {"x", "b", "e", "a"}, "y")});
  const auto with = [&](std::int64_t begin, std::int64_t end, std::int64_t axis) {
    graph.initializers = {
        {"b", integers({begin})}, {"e", integers({end})}, {"a", integers({axis})}};
    return refusal_of(graph);
  };
  EXPECT_EQ(with(1, 3, 1), "taken");
  EXPECT_EQ(with(-3, std::numeric_limits<std::int64_t>::max(), -3), "taken");
  EXPECT_EQ(with(1, 3, 2), "taken");
  EXPECT_THAT(with(1, 3, 0), HasSubstr("takes some of the samples"));
  EXPECT_THAT(with(3, 1, 1), HasSubstr("is empty"));
  EXPECT_THAT(with(0, 1, 7), HasSubstr("there is no axis 7"));
}

TEST(OnnxRefusals, OfZerosBeforeWhatCannotTakeThem) {
  Graph graph = small_graph(
      {graph_node("Pad", {"x", "p"}, "z"),
       graph_node("MaxPool", {"z"}, "y", {{"kernel_shape", std::vector<std::int64_t>{2, 2}}})});
  graph.initializers = {{"p", integers({0, 0, 1, 1, 0, 0, 1, 1})}};
  EXPECT_EQ(refusal_of(graph),
            "t.onnx: node 'n_y' (MaxPool): zeros before this operator are not supported");
  graph.nodes[1].op = "AveragePool";
  EXPECT_EQ(refusal_of(graph), "taken");
  graph.initializers = {{"p", integers({0, 0, 1, 1, 0, 0, 1, 2})}};
  EXPECT_THAT(refusal_of(graph), HasSubstr("are not equal at both ends"));
}

TEST(OnnxRefusals, OfWhatIsNoOrderAndNoShape) {
  const auto transposed = [](std::vector<std::int64_t> order) {
    return refusal_of(
        small_graph({graph_node("Transpose", {"x"}, "a", {{"perm", std::move(order)}}),
                     graph_node("Relu", {"a"}, "y")}));
  };
  EXPECT_EQ(transposed({0, 1, 2, 3}), "taken");
  for (const std::vector<std::int64_t>& order :
       {std::vector<std::int64_t>{0, 1, 1, 9}, {0, 1, 1, 2}, {1, 2, 3, 4}, {0, 1, 2}, {}}) {
    EXPECT_THAT(transposed(order), HasSubstr("(Transpose): orders the axes "));
  }
  Graph reshaped =
      small_graph({graph_node("Reshape", {"x", "s"}, "a"), graph_node("Relu", {"a"}, "y")});
  reshaped.initializers = {{"s", integers({-1, -1})}};
  EXPECT_THAT(refusal_of(reshaped), HasSubstr("only the first size of a shape can be the batch"));
  reshaped.initializers = {{"s", integers({0, -1})}};
  EXPECT_EQ(refusal_of(reshaped), "taken");
}

TEST(OnnxReading, ScalesWeightsByAlphaAndBeta) {
  Graph graph =
      small_graph({graph_node("GlobalAveragePool", {"x"}, "a"), graph_node("Flatten", {"a"}, "b"),
                   graph_node("Gemm", {"b", "w", "c"}, "y", {{"alpha", 2.0F}, {"beta", 0.5F}})});
  graph.initializers = {{"w", noise(tensor::Shape{4, 3})}, {"c", noise(tensor::Shape{1, 3})}};
  const ImportedNetwork network = layers_of(graph, "t.onnx");
  const auto w = graph.initializers[0].tensor.floats();
  const auto& parameters = network.layers.back().parameters;
  ASSERT_EQ(parameters[0].shape(), (tensor::Shape{3, 4}));
  EXPECT_EQ(parameters[0].floats()[1], 2 * w[3]);
  EXPECT_EQ(parameters[1].floats()[2], graph.initializers[1].tensor.floats()[2] / 2);
}

}  // namespace
}  // namespace plait::onnx
