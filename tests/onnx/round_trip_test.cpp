// Out and back: every weight comes home with its bits; what other tools write differently is
// understood all the same.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/error.hpp"
#include "onnx/example_models.hpp"
#include "onnx/file.hpp"
#include "onnx/match.hpp"
#include "onnx/onnx_testing.hpp"
#include "onnx/to_graph.hpp"

namespace plait::onnx {
namespace {

using onnx_graph::Graph;
using onnx_graph::GraphNode;

Graph copied(const Graph& graph) {
  const std::string bytes = onnx_graph::print_onnx(graph);
  return onnx_graph::parse_onnx(std::as_bytes(std::span(bytes)), "copy.onnx");
}

MatchedWeights taken(const graph::ModelSpec& model, const Graph& graph) {
  return match_weights(model, layers_of(graph, "t.onnx"), "t.onnx");
}

void expect_equal(const std::vector<checkpoint::NamedTensor>& a,
                  const std::vector<checkpoint::NamedTensor>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].name, b[i].name);
    ASSERT_EQ(a[i].tensor.shape(), b[i].tensor.shape()) << a[i].name;
    EXPECT_EQ(std::memcmp(a[i].tensor.data(), b[i].tensor.data(), a[i].tensor.bytes()), 0)
        << a[i].name;
  }
}

tensor::Tensor& initializer(Graph& graph, const std::string& name) {
  const auto found = std::ranges::find(graph.initializers, name, &checkpoint::NamedTensor::name);
  if (found == graph.initializers.end()) throw std::runtime_error("no " + name);
  return found->tensor;
}

GraphNode& node(Graph& graph, const std::string& name) {
  const auto found = std::ranges::find(graph.nodes, name, &GraphNode::name);
  if (found == graph.nodes.end()) throw std::runtime_error("no " + name);
  return *found;
}

class OnnxRoundTrip : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!onnx_graph::has_onnx()) GTEST_SKIP() << "this plait is built without libonnx";
  }
};

TEST_F(OnnxRoundTrip, BringsEveryWeightHome) {
  for (const Example& example : examples()) {
    SCOPED_TRACE(example.name);
    const std::vector<checkpoint::NamedTensor> weights = lively_weights(example.model);
    const MatchedWeights back = taken(example.model, copied(to_onnx(example.model, weights, "w")));
    EXPECT_EQ(back.folded, 0);
    expect_equal(weights, back.tensors);
  }
}

TEST_F(OnnxRoundTrip, HasTheBatchAsASymbol) {
  const graph::ModelSpec model = graph::load_model("lenet", {1, 28, 28}, 10);
  const Graph graph = copied(to_onnx(model, lively_weights(model), "w"));
  ASSERT_EQ(graph.inputs.size(), 1U);
  EXPECT_THAT(graph.inputs[0].dims, ::testing::ElementsAre(onnx_graph::kSymbolic, 1, 28, 28));
  EXPECT_THAT(graph.outputs[0].dims, ::testing::ElementsAre(onnx_graph::kSymbolic, 10));
}

TEST(OnnxMatch, UnderstandsAMatrixProductWithASumBehindIt) {
  const graph::ModelSpec model = graph::load_model("mlp:7", {12}, 5);
  const std::vector<checkpoint::NamedTensor> weights = lively_weights(model);
  Graph graph = to_onnx(model, weights, "w");
  GraphNode& gemm = node(graph, "fc1.linear");
  tensor::Tensor& weight = initializer(graph, "fc1.linear.weight");
  tensor::Tensor turned(tensor::Shape{12, 7});
  for (std::size_t i = 0; i < 7; ++i) {
    for (std::size_t j = 0; j < 12; ++j) turned.floats()[j * 7 + i] = weight.floats()[i * 12 + j];
  }
  weight = turned;
  gemm.op = "MatMul";
  gemm.attributes.clear();
  gemm.inputs.pop_back();
  gemm.outputs = {"product"};
  graph.nodes.insert(graph.nodes.begin() + 1, GraphNode{.name = "sum",
                                                        .op = "Add",
                                                        .inputs = {"fc1.linear.bias", "product"},
                                                        .outputs = {"fc1.linear.dst"}});
  expect_equal(weights, taken(model, graph).tensors);
}

TEST(OnnxMatch, FindsBranchesInAnyOrder) {
  const graph::ModelSpec model = graph::load_model("resnet20", {3, 16, 16}, 10);
  const std::vector<checkpoint::NamedTensor> weights = lively_weights(model);
  Graph graph = to_onnx(model, weights, "w");
  const auto at = [&](const std::string& name) {
    return std::ranges::find(graph.nodes, name, &GraphNode::name);
  };
  const auto first = at("layer2.0.conv1");
  std::rotate(first, at("layer2.0.downsample.0"), at("layer2.0.add"));
  std::ranges::swap(node(graph, "layer2.0.add").inputs[0], node(graph, "layer2.0.add").inputs[1]);
  expect_equal(weights, taken(model, graph).tensors);
}

class OnnxRefusal : public ::testing::Test {
 protected:
  std::string refusal() const {
    try {
      taken(model_, graph_);
    } catch (const UserError& error) {
      return error.what();
    }
    return "taken";
  }
  graph::ModelSpec model_ = graph::load_model("resnet20", {3, 16, 16}, 10);
  Graph graph_ = to_onnx(model_, lively_weights(model_), "w");
};

TEST_F(OnnxRefusal, NamesTheFileAndTheNode) {
  EXPECT_EQ(refusal(), "taken");
  node(graph_, "stem.relu").op = "Elu";
  EXPECT_EQ(refusal(), "t.onnx: node 'stem.relu' (Elu): plait has no layer for it");
}

TEST_F(OnnxRefusal, OfOtherNumbersNamesBothLayers) {
  node(graph_, "layer1.0.conv2").attributes[2].value = std::vector<std::int64_t>{2, 2, 2, 2};
  node(graph_, "layer1.0.conv2").attributes[3].value = std::vector<std::int64_t>{2, 2};
  EXPECT_EQ(refusal(),
            "t.onnx: after node 'layer1.0.relu1' (Relu) the model has 'layer1.0.conv2' "
            "(convolution 3x3, 16 channels, padding 1x1), but the file has node 'layer1.0.conv2' "
            "(Conv), convolution 3x3, 16 channels, padding 2x2, dilation 2x2");
}

TEST_F(OnnxRefusal, OfAnotherShapeNamesBothShapes) {
  initializer(graph_, "head.fc.weight") = tensor::Tensor(tensor::Shape{10, 32});
  EXPECT_EQ(refusal(),
            "t.onnx: node 'head.fc' (Gemm): its weight is 10x32, but the model's 'head.fc.weight' "
            "needs 10x64");
}

TEST_F(OnnxRefusal, OfABiasThatHasNoPlace) {
  graph_.initializers.push_back({"b", noise(tensor::Shape{16})});
  node(graph_, "stem.conv1").inputs.push_back("b");
  EXPECT_EQ(refusal(),
            "t.onnx: node 'stem.conv1' (Conv) has a bias, but the model's 'stem.conv1' has none");
}

TEST_F(OnnxRefusal, OfWhatIsTooMuchOrTooLittle) {
  Graph whole = graph_;
  graph_.nodes.back().inputs = {"more"};
  graph_.nodes.push_back(
      {.name = "more", .op = "Relu", .inputs = {"head.fc.dst"}, .outputs = {"more"}});
  EXPECT_THAT(refusal(), ::testing::HasSubstr("no earlier node writes 'more'"));
  std::swap(graph_.nodes[graph_.nodes.size() - 2], graph_.nodes.back());
  EXPECT_EQ(refusal(), "t.onnx: node 'more' (Relu), relu, is not in the model");
  graph_ = whole;
  graph_.nodes.back().inputs = {"head.flatten.dst"};
  std::erase_if(graph_.nodes, [](const GraphNode& one) { return one.name == "head.fc"; });
  EXPECT_THAT(refusal(), ::testing::HasSubstr("the model has 'head.fc' (linear, 10 features), but "
                                              "the file has nothing"));
}

TEST_F(OnnxRefusal, OfWeightsThatAreComputed) {
  node(graph_, "head.fc").inputs[1] = "head.flatten.dst";
  EXPECT_THAT(refusal(), ::testing::HasSubstr("'head.fc' (Gemm): 'head.flatten.dst' is computed"));
}

TEST_F(OnnxRefusal, OfHalfAGelu) {
  graph_.nodes.back().op = "Erf";
  EXPECT_THAT(refusal(), ::testing::HasSubstr("'logits' (Erf): plait has no layer for it"));
}

TEST_F(OnnxRefusal, OfElementsWhereASparseLayerHasNone) {
  model_ = graph::load_model("radixnet:1024x1", {1024}, 10);
  graph_ = to_onnx(model_, lively_weights(model_), "w");
  EXPECT_EQ(refusal(), "taken");
  for (checkpoint::NamedTensor& one : graph_.initializers) {
    if (one.tensor.shape() == tensor::Shape{1024, 1024})
      std::ranges::fill(one.tensor.floats(), 1.0F);
  }
  EXPECT_THAT(refusal(), ::testing::HasSubstr("row 0 has weights where the model's"));
}

TEST_F(OnnxRoundTrip, RefusesDamagedBytes) {
  const graph::ModelSpec model = graph::load_model("mlp:3", {4}, 2);
  const std::string bytes = onnx_graph::print_onnx(to_onnx(model, lively_weights(model), "w"));
  const auto read = [](std::string_view text) -> std::string {
    try {
      onnx_graph::parse_onnx(std::as_bytes(std::span(text)), "cut.onnx");
    } catch (const UserError& error) {
      return error.what();
    }
    return "read";
  };
  EXPECT_EQ(read(bytes), "read");
  EXPECT_EQ(read(""), "cut.onnx: is not an ONNX model, or is damaged");
  EXPECT_EQ(read("{\"no\": \"onnx\"}"), "cut.onnx: is not an ONNX model, or is damaged");
  const std::string half = bytes.substr(0, bytes.size() / 2);
  EXPECT_EQ(read(half), "cut.onnx: is not an ONNX model, or is damaged");
}

TEST_F(OnnxRoundTrip, RefusesSizesThatDoNotFitTheBytes) {
  const graph::ModelSpec model = graph::load_model("mlp:3", {4}, 2);
  std::string bytes = onnx_graph::print_onnx(to_onnx(model, lively_weights(model), "w"));
  // fc1.linear.weight is 3x4: dims are fields of one byte each, before the type.
  const std::string dims{"\x08\x03\x08\x04\x10\x01", 6};
  const std::size_t at = bytes.find(dims);
  ASSERT_NE(at, std::string::npos);
  bytes[at + 3] = 5;
  try {
    onnx_graph::parse_onnx(std::as_bytes(std::span(bytes)), "bad.onnx");
    FAIL();
  } catch (const UserError& error) {
    EXPECT_STREQ(error.what(),
                 "bad.onnx: tensor 'fc1.linear.weight' says 3x5, which does not fit its 12 values");
  }
}

}  // namespace
}  // namespace plait::onnx
