// Networks out of graphs: the chain that comes out computes what the one that went in did.
#include "onnx/to_model.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "base/error.hpp"
#include "onnx/example_models.hpp"
#include "onnx/onnx_testing.hpp"
#include "onnx/to_graph.hpp"

namespace plait::onnx {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

ImportedModel imported(const onnx_graph::Graph& graph) {
  return to_model(layers_of(graph, "t.onnx"), "t", "t.onnx");
}

TEST(OnnxToModel, GivesTheSameLogits) {
  for (const Example& example : outward_examples()) {
    SCOPED_TRACE(example.name);
    const std::vector<checkpoint::NamedTensor> weights = lively_weights(example.model);
    const ImportedModel other = imported(to_onnx(example.model, weights, "w"));
    const tensor::Tensor images = noise(example.model.input.with_front(2));
    const std::vector<float> wanted = logits_of(example.model, weights, images);
    const std::vector<float> logits = logits_of(other.model, other.weights, images);
    ASSERT_EQ(logits.size(), wanted.size());
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      EXPECT_NEAR(logits[i], wanted[i], 1e-5 * std::max(1.0F, std::abs(wanted[i]))) << i;
    }
    // It can be kept as a file.
    const auto classes = static_cast<int>(logits.size() / 2);
    EXPECT_EQ(graph::parse_model(graph::write_model(other.model), "again.toml", {}, classes),
              other.model);
  }
}

TEST(OnnxToModel, MakesFineBlocksWithTheNamesOfTheWeights) {
  const graph::ModelSpec model = graph::load_model("resnet20", {3, 16, 16}, 10);
  const ImportedModel other = imported(to_onnx(model, lively_weights(model), "w"));
  std::vector<std::string> blocks;
  for (const graph::BlockSpec& block : other.model.blocks) blocks.push_back(block.name);
  blocks.resize(8);
  EXPECT_THAT(blocks,
              ElementsAre("stem", "layer1.0.conv1", "layer1.0.bn1", "layer1.0.conv2",
                          "layer1.0.bn2", "layer1.0.add", "layer1.1.conv1", "layer1.1.bn1"));
  const auto names = [&](const graph::BlockSpec& block) {
    std::vector<std::string> all;
    for (const graph::Node& node : block.nodes) all.push_back(node.name);
    return all;
  };
  EXPECT_THAT(names(other.model.blocks[0]), ElementsAre("conv1", "bn1", "relu"));
  EXPECT_THAT(names(other.model.blocks[2]), ElementsAre("", "relu"));
  EXPECT_THAT(names(other.model.blocks.back()), ElementsAre("pool", "flatten", ""));
  std::set<std::string> ours;
  for (const checkpoint::NamedTensor& one : lively_weights(model)) ours.insert(one.name);
  for (const checkpoint::NamedTensor& one : other.weights) EXPECT_TRUE(ours.contains(one.name));
  EXPECT_EQ(other.weights.size(), ours.size());
}

TEST(OnnxToModel, RefusesWhatItCannotKnow) {
  const auto refusal = [](const onnx_graph::Graph& graph) -> std::string {
    try {
      imported(graph);
    } catch (const UserError& error) {
      return error.what();
    }
    return "taken";
  };
  const graph::ModelSpec model = graph::load_model("mlp:3", {4}, 2);
  const onnx_graph::Graph whole = to_onnx(model, lively_weights(model), "w");
  EXPECT_EQ(refusal(whole), "taken");
  onnx_graph::Graph graph = whole;
  graph.inputs[0].dims[1] = onnx_graph::kSymbolic;
  EXPECT_THAT(refusal(graph), HasSubstr("t.onnx: does not state the size of its input"));
  graph = whole;
  graph.inputs[0].dims[1] = 5;
  EXPECT_EQ(refusal(graph),
            "t.onnx: node 'fc1.linear' (Gemm): its tensor is 3x4, but the network needs 3x5");
  graph = whole;
  graph.outputs[0].name = "images";
  EXPECT_EQ(refusal(graph), "t.onnx: has no layers");
  graph.outputs[0].name = "fc1.relu.dst";  // what comes later is not needed
  EXPECT_EQ(imported(graph).model.blocks.size(), 1U);
}

}  // namespace
}  // namespace plait::onnx
