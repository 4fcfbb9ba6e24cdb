// Files that PyTorch wrote (record_torch.py), read into a model of ours: the same logits.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <fstream>

#include "onnx/file.hpp"
#include "onnx/match.hpp"
#include "onnx/onnx_testing.hpp"

namespace plait::onnx {
namespace {

const char* kNetwork = R"(
input = [2, 16, 16]
[[block]]
name = "stem"
layers = [ {type = "convolution", out = 6, kernel = 3, padding = 1}, {type = "batch_norm"}, {type = "gelu"},
           {type = "max_pool", kernel = 2} ]
[[block]]
name = "residual"
residual = true
layers = [ {type = "convolution", out = 8, kernel = 3, stride = 2, padding = 1, bias = false}, {type = "batch_norm"}, {type = "relu"},
           {type = "convolution", out = 8, kernel = 3, padding = 2, dilation = 2, groups = 2, bias = false}, {type = "batch_norm"} ]
shortcut = [ {type = "convolution", out = 8, kernel = 1, stride = 2, bias = false}, {type = "batch_norm"} ]
after = [ {type = "relu"} ]
[[block]]
name = "head"
layers = [ {type = "average_pool", kernel = 2, padding = 1}, {type = "flatten"}, {type = "linear", out = 7}, {type = "tanh"},
           {type = "dropout"}, {type = "linear", out = 7, bias = false}, {type = "sigmoid"}, {type = "clip", ceiling = 6},
           {type = "linear", out = "classes"} ]
)";

const char* kLayers = R"(
input = [2, 16, 16]
[[block]]
name = "a"
layers = [ {type = "convolution", out = 6, kernel = 3, padding = 1}, {type = "silu"},
           {type = "max_pool", kernel = 3, stride = 2, ceil_mode = true} ]
[[block]]
name = "b"
layers = [ {type = "convolution", out = 8, kernel = 3}, {type = "leaky_relu", slope = 0.1},
           {type = "average_pool", kernel = 3, stride = 2, padding = 1, count_include_pad = false} ]
[[block]]
name = "c"
layers = [ {type = "average_pool", kernel = 2, ceil_mode = true}, {type = "flatten"}, {type = "linear", out = "classes"} ]
)";

const char* kOperationsOfTorch = R"(
input = [2, 16, 16]
[[block]]
name = "stem"
layers = [ {type = "convolution", out = 12, kernel = 3, padding = 1}, {type = "clip", ceiling = 6},
           {type = "adaptive_average_pool", output = [8, 4]} ]
[[block]]
name = "left"
layers = [ {type = "slice", length = 6} ]
[[block]]
name = "right"
inputs = ["stem"]
layers = [ {type = "slice", start = 6, length = 6}, {type = "convolution", out = 6, kernel = 3, padding = 1, groups = 6} ]
[[block]]
name = "shuffle"
inputs = ["left", "right"]
layers = [ {type = "concat"}, {type = "channel_shuffle", groups = 3} ]
[[block]]
name = "squeeze"
layers = [ {type = "global_average_pool"}, {type = "convolution", out = 12, kernel = 1}, {type = "hard_sigmoid"} ]
[[block]]
name = "excite"
inputs = ["shuffle", "squeeze"]
layers = [ {type = "multiply"} ]
[[block]]
name = "down"
layers = [ {type = "convolution", out = 12, kernel = 2, stride = 2}, {type = "hard_swish"}, {type = "upsample"} ]
[[block]]
name = "sum"
inputs = ["excite", "down"]
layers = [ {type = "add"}, {type = "layer_norm", dims = 2}, {type = "slice", length = 11},
           {type = "transposed_convolution", out = 8, kernel = 3, stride = 2, padding = 1, output_padding = 1}, {type = "hard_swish"},
           {type = "upsample_bilinear"}, {type = "global_average_pool"}, {type = "flatten"}, {type = "linear", out = "classes"} ]
)";

/// The model of a file, and where its logits are.
struct OfFile {
  const char* model;
  const char* logits;
};
OfFile of_file(const std::string& name) {
  if (name == "torch_layers.onnx") return {kLayers, "recorded_torch_layers.json"};
  if (name == "torch_operations.onnx")
    return {kOperationsOfTorch, "recorded_torch_operations.json"};
  return {kNetwork, "recorded_torch.json"};
}

class TorchFile : public ::testing::TestWithParam<const char*> {};

TEST_P(TorchFile, GivesThePyTorchLogits) {
  if (!onnx_graph::has_onnx()) GTEST_SKIP() << "this plait is built without libonnx";
  const std::filesystem::path here = std::filesystem::path(PLAIT_SOURCE_DIR) / "tests" / "onnx";
  const std::string file = (here / GetParam()).string();
  const OfFile of = of_file(GetParam());
  const graph::ModelSpec model = graph::parse_model(of.model, "network.toml", {}, 5);
  const MatchedWeights weights =
      match_weights(model, layers_of(onnx_graph::read_onnx(file), file), file);
  EXPECT_EQ(weights.folded, std::string(GetParam()) == "torch_folded.onnx" ? 4 : 0);
  const nlohmann::json recorded = nlohmann::json::parse(std::ifstream(here / of.logits));
  tensor::Tensor images(tensor::Shape{3, 2, 16, 16});
  const auto pixels = recorded["images"].get<std::vector<float>>();
  ASSERT_EQ(pixels.size(), images.floats().size());
  std::ranges::copy(pixels, images.floats().begin());
  const std::vector<float> logits = logits_of(model, weights.tensors, images);
  const auto wanted = recorded["logits"].get<std::vector<float>>();
  ASSERT_EQ(logits.size(), wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(logits[i], wanted[i], 2e-6) << i;
}

INSTANTIATE_TEST_SUITE_P(Of, TorchFile,
                         ::testing::Values("torch_folded.onnx", "torch_whole.onnx",
                                           "torch_layers.onnx", "torch_operations.onnx"));

}  // namespace
}  // namespace plait::onnx
