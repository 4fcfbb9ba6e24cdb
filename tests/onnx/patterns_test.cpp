// Small networks as PyTorch exports them (record_patterns.py), made models of ours: the same
// logits, the names of the state_dict, and no node left over.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <fstream>
#include <set>

#include "base/error.hpp"
#include "onnx/file.hpp"
#include "onnx/onnx_testing.hpp"
#include "onnx/to_graph.hpp"
#include "onnx/to_model.hpp"

namespace plait::onnx {
namespace {

namespace fs = std::filesystem;

fs::path pattern_folder() { return fs::path(PLAIT_SOURCE_DIR) / "tests" / "onnx"; }

nlohmann::json recorded_patterns() {
  return nlohmann::json::parse(std::ifstream(pattern_folder() / "recorded_patterns.json"));
}

ImportedModel pattern_model(const std::string& file) {
  const std::string path = (pattern_folder() / file).string();
  return to_model(layers_of(onnx_graph::read_onnx(path), file), "pattern", file);
}

std::map<std::string, int> kinds_of(const graph::ModelSpec& model) {
  std::map<std::string, int> kinds;
  for (const graph::BlockSpec& block : model.blocks) {
    for (const graph::Node& node : block.nodes) ++kinds[std::string(ops::name_of(node.layer))];
  }
  return kinds;
}

class OnnxPatterns : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!onnx_graph::has_onnx()) GTEST_SKIP() << "this plait is built without libonnx";
  }
};

TEST_F(OnnxPatterns, GiveThePyTorchLogitsAndNames) {
  const nlohmann::json recorded = recorded_patterns();
  tensor::Tensor images(tensor::Shape{2, 3, 8, 8});
  const auto pixels = recorded["images"].get<std::vector<float>>();
  ASSERT_EQ(pixels.size(), images.floats().size());
  std::ranges::copy(pixels, images.floats().begin());
  EXPECT_EQ(recorded["cases"].size(), 10U);
  for (const nlohmann::json& one : recorded["cases"]) {
    SCOPED_TRACE(one["file"]);
    const ImportedModel imported = pattern_model(one["file"]);
    const auto wanted = one["logits"].get<std::vector<float>>();
    const auto near_all = [&](const std::vector<float>& logits) {
      ASSERT_EQ(logits.size(), wanted.size());
      for (std::size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(logits[i], wanted[i], 2e-6) << i;
    };
    near_all(logits_of(imported.model, imported.weights, images));
    EXPECT_EQ(graph::parse_model(graph::write_model(imported.model), "again.toml", {}, 5),
              imported.model);
    const onnx_graph::Graph again = to_onnx(imported.model, imported.weights, "w");
    const ImportedModel back = to_model(layers_of(again, "again.onnx"), "pattern", "again.onnx");
    near_all(logits_of(back.model, back.weights, images));
    std::set<std::string> ours;
    for (const checkpoint::NamedTensor& weight : imported.weights) ours.insert(weight.name);
    for (const std::string name : one["names"]) {
      if (name.find('.') != std::string::npos) {  // a matrix without a module has no name here
        EXPECT_TRUE(ours.contains(name)) << name;
      }
    }
  }
}

TEST_F(OnnxPatterns, BecomeTheLayersThatTheyStandFor) {
  using ::testing::Contains;
  using ::testing::Pair;
  const auto kinds = [](const char* file) { return kinds_of(pattern_model(file).model); };
  for (const char* file :
       {"pattern_excitation11.onnx", "pattern_excitation13.onnx", "pattern_excitation17.onnx"}) {
    EXPECT_THAT(kinds(file),
                ::testing::ElementsAre(
                    Pair("batch_norm", 1), Pair("convolution", 3), Pair("dropout", 1),
                    Pair("flatten", 1), Pair("global_average_pool", 2), Pair("linear", 1),
                    Pair("multiply", 1), Pair("relu", 1), Pair("sigmoid", 1), Pair("silu", 1)));
  }
  for (const char* file : {"pattern_hard.onnx", "pattern_hard14.onnx"}) {
    EXPECT_THAT(kinds(file), Contains(Pair("hard_swish", 1)));
    EXPECT_THAT(kinds(file), Contains(Pair("hard_sigmoid", 1)));
    EXPECT_THAT(kinds(file), Contains(Pair("clip", 1)));
    EXPECT_EQ(kinds(file).count("relu"), 0U);
    EXPECT_THAT(kinds(file), Contains(Pair("multiply", 1)));
  }
  for (const char* file : {"pattern_shuffle.onnx", "pattern_shuffle_fixed.onnx"}) {
    EXPECT_THAT(kinds(file), Contains(Pair("channel_shuffle", 1)));
    EXPECT_THAT(kinds(file), Contains(Pair("slice", 2)));
  }
  EXPECT_THAT(kinds("pattern_branches.onnx"), Contains(Pair("average_pool", 2)));
  EXPECT_THAT(kinds("pattern_residual.onnx"), Contains(Pair("gelu", 1)));
  EXPECT_THAT(kinds("pattern_residual.onnx"), Contains(Pair("linear", 1)));
}

TEST_F(OnnxPatterns, KeepTheProbabilityOfDropout) {
  for (const graph::BlockSpec& block : pattern_model("pattern_excitation13.onnx").model.blocks) {
    for (const graph::Node& node : block.nodes) {
      if (const auto* dropout = std::get_if<ops::Dropout>(&node.layer)) {
        EXPECT_EQ(dropout->probability, 0.25);
      }
    }
  }
}

}  // namespace
}  // namespace plait::onnx
