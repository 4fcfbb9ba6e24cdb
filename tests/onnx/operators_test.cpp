// Single operators of files by others, written by hand: what becomes of them, and what is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.hpp"
#include "onnx/layers.hpp"

namespace plait::onnx {
namespace {

using onnx_graph::Attribute;
using onnx_graph::Graph;
using onnx_graph::GraphNode;
using testing::HasSubstr;
using Numbers = std::vector<std::int64_t>;

tensor::Tensor whole(const Numbers& values) {
  tensor::Tensor tensor(tensor::Shape{static_cast<std::int64_t>(values.size())},
                        tensor::DType::i64);
  std::ranges::copy(values, tensor.as<std::int64_t>().begin());
  return tensor;
}

tensor::Tensor real(const std::vector<float>& values) {
  tensor::Tensor tensor(tensor::Shape{static_cast<std::int64_t>(values.size())});
  std::ranges::copy(values, tensor.floats().begin());
  return tensor;
}

/// Of images 6 x 4 x 4; the last node writes "y".
Graph graph_of(std::vector<GraphNode> nodes, std::vector<checkpoint::NamedTensor> stored = {}) {
  return {.opset = 13,
          .nodes = std::move(nodes),
          .initializers = std::move(stored),
          .inputs = {{"x", {onnx_graph::kSymbolic, 6, 4, 4}}},
          .outputs = {{"y", {}}}};
}

GraphNode node(const std::string& op, std::vector<std::string> inputs,
               std::vector<Attribute> attributes = {}, std::vector<std::string> outputs = {"y"}) {
  return {.name = "n",
          .op = op,
          .inputs = std::move(inputs),
          .outputs = std::move(outputs),
          .attributes = std::move(attributes)};
}

std::vector<ops::Operation> read(const Graph& graph) {
  std::vector<ops::Operation> layers;
  for (const ImportedLayer& one : layers_of(graph, "t.onnx").layers) layers.push_back(one.layer);
  return layers;
}

std::string refused(const Graph& graph) {
  try {
    layers_of(graph, "t.onnx");
  } catch (const UserError& error) {
    return error.what();
  }
  return "read";
}

const Attribute kChannels{"axis", std::int64_t{1}};

Graph split(std::vector<Attribute> attributes, std::vector<std::string> outputs,
            const Numbers& sizes = {}) {
  std::vector<std::string> inputs{"x"};
  if (!sizes.empty()) inputs.emplace_back("sizes");
  return graph_of({node("Split", inputs, std::move(attributes), std::move(outputs)),
                   node("Concat", {"b", "a"}, {kChannels})},
                  {{"sizes", whole(sizes.empty() ? Numbers{1} : sizes)}});
}

TEST(OnnxOperators, SplitIsASliceForEachOutputThatIsRead) {
  const ops::Slice first{0, 2};
  const ops::Slice last{4, 2};
  const std::vector<ops::Operation> wanted{first, last, ops::Concat{}};
  EXPECT_EQ(read(split({kChannels}, {"a", "unread", "b"}, {2, 2, 2})), wanted);
  EXPECT_EQ(read(split({kChannels}, {"a", "unread", "b"})), wanted);
  EXPECT_EQ(read(split({kChannels, {"split", Numbers{2, 2, 2}}}, {"a", "", "b"})), wanted);
  EXPECT_THAT(refused(split({kChannels}, {"a", "b"}, {2, 5})),
              HasSubstr("[2, 5] are no parts of 6x4x4"));
  EXPECT_THAT(refused(split({kChannels}, {"a", "b"}, {-1, 7})), HasSubstr("[-1, 7] are no parts"));
  EXPECT_THAT(refused(split({kChannels}, {"a", "b"}, {6})), HasSubstr("[6] are not 2 parts of"));
  EXPECT_THAT(refused(split({}, {"a", "b"}, {2, 4})), HasSubstr("axis is 0"));
}

TEST(OnnxOperators, SliceTakesNumbersFromTheEnd) {
  const auto slice = [](std::int64_t start, std::int64_t end, std::int64_t axis) {
    return graph_of({node("Slice", {"x", "s", "e", "a"})},
                    {{"s", whole({start})}, {"e", whole({end})}, {"a", whole({axis})}});
  };
  EXPECT_EQ(read(slice(-2, INT64_MAX, 1)), (std::vector<ops::Operation>{ops::Slice{4, 2}}));
  EXPECT_EQ(read(slice(1, -1, -3)), (std::vector<ops::Operation>{ops::Slice{1, 4}}));
  EXPECT_TRUE(read(slice(0, 6, 1)).empty());
  EXPECT_THAT(refused(slice(3, 3, 1)), HasSubstr("3 .. 3 of axis 1 is empty"));
  EXPECT_EQ(read(slice(0, 2, 2)), (std::vector<ops::Operation>{ops::Slice{0, 2, 1}}));
  EXPECT_EQ(read(slice(1, 4, -1)), (std::vector<ops::Operation>{ops::Slice{1, 3, 2}}));
  EXPECT_THAT(refused(slice(0, 2, 0)), HasSubstr("takes some of the samples"));
}

TEST(OnnxOperators, ResizeEnlargesByWholeFactors) {
  const std::vector<Attribute> nearest{
      {"coordinate_transformation_mode", std::string("asymmetric")},
      {"nearest_mode", std::string("floor")}};
  const auto by_scales = [&](const std::vector<float>& scales) {
    return graph_of({node("Resize", {"x", "", "s"}, nearest)}, {{"s", real(scales)}});
  };
  const auto by_sizes = [&](const Numbers& sizes) {
    return graph_of({node("Resize", {"x", "", "", "s"}, {{"mode", std::string("linear")}})},
                    {{"s", whole(sizes)}});
  };
  EXPECT_EQ(read(by_scales({1, 1, 2, 3})),
            (std::vector<ops::Operation>{ops::Upsample{.scale = {2, 3}}}));
  EXPECT_EQ(read(by_sizes({-1, 6, 8, 4})),
            (std::vector<ops::Operation>{
                ops::Upsample{.kind = ops::UpsampleKind::bilinear, .scale = {2, 1}}}));
  EXPECT_THAT(refused(by_scales({1, 1, 1.5, 2})), HasSubstr("whole factors"));
  EXPECT_THAT(refused(by_scales({1, 2, 2, 2})), HasSubstr("whole factors"));
  EXPECT_THAT(refused(by_scales({1, 1, 1e30F, 2})), HasSubstr("whole factors"));
  EXPECT_THAT(refused(by_sizes({-1, 6, 7, 4})), HasSubstr("whole factors"));
  EXPECT_THAT(refused(graph_of({node("Resize", {"x", "", "s"}, {{"mode", std::string("cubic")}})},
                               {{"s", real({1, 1, 2, 2})}})),
              HasSubstr("mode 'cubic'"));
}

TEST(OnnxOperators, GatesBecomeOneLayer) {
  const ops::Activation swish{ops::ActivationKind::hard_swish};
  const std::vector<Attribute> sixth{{"alpha", 1.0F / 6}};
  EXPECT_EQ(read(graph_of({node("HardSigmoid", {"x"}, sixth, {"g"}), node("Mul", {"g", "x"})})),
            (std::vector<ops::Operation>{swish}));
  EXPECT_EQ(read(graph_of({node("HardSigmoid", {"x"}, sixth, {"g"}),
                           node("Mul", {"x", "g"}, {}, {"m"}), node("Add", {"m", "g"})})),
            (std::vector<ops::Operation>{ops::Activation{ops::ActivationKind::hard_sigmoid}, swish,
                                         ops::Add{}}));
  EXPECT_THAT(refused(graph_of({node("HardSigmoid", {"x"})})), HasSubstr("slope 0.2"));
}

TEST(OnnxOperators, DifferencesAreOfTwoTensorsInTheirOrder) {
  const ImportedNetwork network =
      layers_of(graph_of({node("Relu", {"x"}, {}, {"r"}), node("Sub", {"r", "x"})}), "t.onnx");
  ASSERT_EQ(network.layers.size(), 2U);
  EXPECT_EQ(network.layers[1].layer, ops::Operation{ops::Subtract{}});
  EXPECT_EQ(network.layers[1].inputs, (std::vector<int>{0, graph::kBlockInput}));
  EXPECT_THAT(refused(graph_of({node("Sub", {"x", "c"})}, {{"c", real({1, 2, 3, 4})}})),
              HasSubstr("Sub"));
}

TEST(OnnxOperators, TheSmallerFactorComesLast) {
  const ImportedNetwork network = layers_of(
      graph_of({node("GlobalAveragePool", {"x"}, {}, {"g"}), node("Mul", {"g", "x"})}), "t.onnx");
  ASSERT_EQ(network.layers.size(), 2U);
  EXPECT_EQ(network.layers[1].inputs, (std::vector<int>{graph::kBlockInput, 0}));
}

/// Rows of a stored 9 x 4 table, by 5 numbers of each sample.
Graph gathered(std::vector<Attribute> attributes, std::vector<std::string> inputs = {"t", "x"}) {
  return {.opset = 13,
          .nodes = {node("Gather", std::move(inputs), std::move(attributes))},
          .initializers = {{"t", tensor::Tensor(tensor::Shape{9, 4})}},
          .inputs = {{.name = "x", .dims = {onnx_graph::kSymbolic, 5}, .integers = true}},
          .outputs = {{"y", {}}}};
}

TEST(OnnxOperators, GatherOfTheInputIsAnEmbedding) {
  const std::vector<ops::Operation> wanted{ops::Embedding{.vocabulary = 9, .width = 4}};
  EXPECT_EQ(read(gathered({})), wanted);
  Graph cast = gathered({}, {"t", "ids"});
  cast.nodes.insert(cast.nodes.begin(), node("Cast", {"x"}, {{"to", std::int64_t{7}}}, {"ids"}));
  EXPECT_EQ(read(cast), wanted);
  cast.inputs[0].integers = false;  // rounds
  EXPECT_THAT(refused(cast), HasSubstr("(Cast): casts to ONNX's type 7, but plait"));
  Graph floats = gathered({});
  floats.inputs[0].integers = false;
  EXPECT_THAT(refused(floats), HasSubstr("its indices are not the network's input"));
  EXPECT_THAT(refused(gathered({kChannels})), HasSubstr("picks along axis 1 of a constant of 9x4"));
  EXPECT_THAT(refused(gathered({}, {"x", "t"})), HasSubstr("picks from a computed tensor"));
}

}  // namespace
}  // namespace plait::onnx
