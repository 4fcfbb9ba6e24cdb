// Networks that together have every layer, for files out and in.
#pragma once

#include <string>
#include <vector>

#include "graph/model_file.hpp"

namespace plait::onnx {

struct Example {
  std::string name;
  graph::ModelSpec model;
  float tolerance = 1e-4F;  ///< small networks are held to less than rounding in deep ones needs
};

inline const char* kOwnChain = R"(
input = [4, 17, 15]
[[block]]
name = "wide"
layers = [ {type = "convolution", out = 8, kernel = [3, 2], padding = [2, 1], dilation = [2, 1], groups = 2},
           {type = "batch_norm", epsilon = 1e-3}, {type = "gelu"}, {type = "max_pool", kernel = 3, stride = 2, padding = 1} ]
[[block]]
name = "twig"
residual = true
layers = [ {type = "convolution", out = 12, kernel = 3, stride = 2, padding = 1, bias = false}, {type = "batch_norm"}, {type = "tanh"},
           {type = "convolution", out = 12, kernel = 1, groups = 4} ]
shortcut = [ {type = "convolution", out = 12, kernel = 1, stride = 2} ]
after = [ {type = "clip", ceiling = 1.5} ]
[[block]]
name = "head"
layers = [ {type = "average_pool", kernel = 3, stride = 2, padding = 1}, {type = "dropout"}, {type = "flatten"},
           {type = "linear", out = 9, bias = false}, {type = "batch_norm"}, {type = "sigmoid"}, {type = "linear", out = "classes"} ]
)";

inline const char* kActivations = R"(
[[block]]
name = "a"
layers = [ {type = "flatten"}, {type = "linear", out = 24}, {type = "gelu"} ]
[[block]]
name = "b"
layers = [ {type = "linear", out = 24}, {type = "tanh"} ]
[[block]]
name = "c"
layers = [ {type = "linear", out = 24}, {type = "sigmoid"} ]
[[block]]
name = "d"
layers = [ {type = "linear", out = 24}, {type = "clip", ceiling = 0.5} ]
[[block]]
name = "leaky"
layers = [ {type = "linear", out = 24}, {type = "leaky_relu", slope = 0.2} ]
[[block]]
name = "silu"
layers = [ {type = "linear", out = 24}, {type = "silu"} ]
[[block]]
name = "e"
layers = [ {type = "linear", out = "classes"}, {type = "dropout"} ]
)";

inline const char* kPools = R"(
input = [4, 22, 24]
[[block]]
name = "a"
layers = [ {type = "convolution", out = 8, kernel = 3}, {type = "silu"}, {type = "max_pool", kernel = 3, stride = 2, ceil_mode = true} ]
[[block]]
name = "b"
layers = [ {type = "convolution", out = 8, kernel = 3, padding = 1}, {type = "leaky_relu"},
           {type = "average_pool", kernel = 3, stride = 2, padding = 1, count_include_pad = false} ]
[[block]]
name = "c"
layers = [ {type = "average_pool", kernel = 2, ceil_mode = true}, {type = "flatten"}, {type = "linear", out = "classes"} ]
)";

inline const char* kBranches = R"(
input = [3, 12, 10]
[[block]]
name = "stem"
layers = [ {type = "convolution", out = 6, kernel = 3, padding = 1}, {type = "batch_norm"}, {type = "relu"} ]
[[block]]
name = "narrow"
layers = [ {type = "convolution", out = 5, kernel = 1} ]
[[block]]
name = "wide"
inputs = ["stem"]
layers = [ {type = "convolution", out = 16, kernel = 3, padding = 1}, {type = "tanh"} ]
[[block]]
name = "join"
inputs = ["narrow", "wide", "input"]
layers = [ {type = "concat"}, {type = "convolution", out = 6, kernel = 1} ]
[[block]]
name = "sum"
inputs = ["join", "stem"]
layers = [ {type = "add"}, {type = "relu"} ]
[[block]]
name = "head"
layers = [ {type = "global_average_pool"}, {type = "flatten"}, {type = "linear", out = "classes"} ]
)";

inline const char* kOperations = R"(
input = [4, 12, 10]
[[block]]
name = "stem"
layers = [ {type = "convolution", out = 12, kernel = 3, padding = 1}, {type = "hard_swish"}, {type = "channel_shuffle", groups = 3} ]
[[block]]
name = "left"
layers = [ {type = "slice", start = 0, length = 5} ]
[[block]]
name = "right"
inputs = ["stem"]
layers = [ {type = "slice", start = 5, length = 7}, {type = "layer_norm", dims = 2, affine = false}, {type = "clip", ceiling = 6} ]
[[block]]
name = "join"
inputs = ["right", "left"]
layers = [ {type = "concat"}, {type = "upsample", scale = [2, 1]}, {type = "layer_norm", dims = 3, epsilon = 1e-3} ]
[[block]]
name = "mean"
layers = [ {type = "global_average_pool"}, {type = "convolution", out = 12, kernel = 1}, {type = "hard_sigmoid"} ]
[[block]]
name = "gate"
inputs = ["join", "mean"]
layers = [ {type = "multiply"}, {type = "adaptive_average_pool", output = [8, 5]},
           {type = "transposed_convolution", out = 6, kernel = 3, stride = 2, padding = 1, output_padding = [1, 0], groups = 2} ]
[[block]]
name = "head"
layers = [ {type = "upsample_bilinear", scale = [1, 3]}, {type = "adaptive_average_pool", output = 1}, {type = "flatten"},
           {type = "layer_norm"}, {type = "linear", out = "classes"} ]
)";

inline const char* kSequence = R"(
input = [4, 30]
[[block]]
name = "a"
layers = [ {type = "convolution_1d", out = 6, kernel = 5, stride = 2, padding = 2, groups = 2}, {type = "batch_norm"}, {type = "relu"} ]
[[block]]
name = "b"
layers = [ {type = "convolution_1d", out = 8, kernel = 3, dilation = 2, bias = false}, {type = "layer_norm", dims = 2}, {type = "silu"},
           {type = "flatten"}, {type = "linear", out = "classes"} ]
)";

inline const char* kExcitation = R"(
input = [3, 6, 5]
[[block]]
name = "image"
layers = [ {type = "convolution", out = 8, kernel = 3, padding = 1}, {type = "relu"} ]
[[block]]
name = "squeeze"
layers = [ {type = "global_average_pool"}, {type = "flatten"}, {type = "linear", out = 4}, {type = "relu"} ]
[[block]]
name = "excite"
layers = [ {type = "linear", out = 8}, {type = "sigmoid"} ]
[[block]]
name = "scale"
inputs = ["image", "excite"]
layers = [ {type = "multiply"} ]
[[block]]
name = "head"
layers = [ {type = "flatten"}, {type = "linear", out = "classes"} ]
)";

/// Windows that ceil_mode would begin in the zeros at the end.
inline const char* kCeilMode = R"(
input = [3, 7, 9]
[[block]]
name = "max"
layers = [ {type = "max_pool", kernel = 2, stride = 2, padding = 1, ceil_mode = true} ]
[[block]]
name = "average"
inputs = ["input"]
layers = [ {type = "average_pool", kernel = 2, stride = 2, padding = 1, ceil_mode = true, count_include_pad = false} ]
[[block]]
name = "counting"
inputs = ["input"]
layers = [ {type = "average_pool", kernel = 2, stride = 2, padding = 1, ceil_mode = true} ]
[[block]]
name = "head"
inputs = ["max", "average", "counting"]
layers = [ {type = "concat"}, {type = "flatten"}, {type = "linear", out = "classes"} ]
)";

/// The same along the height; along the width ceil_mode gives a further window.
inline const char* kCeilModeOfOneAxis = R"(
input = [3, 8, 9]
[[block]]
name = "max"
layers = [ {type = "max_pool", kernel = 3, stride = 3, padding = 1, ceil_mode = true} ]
[[block]]
name = "average"
inputs = ["input"]
layers = [ {type = "average_pool", kernel = 3, stride = 3, padding = 1, ceil_mode = true, count_include_pad = false} ]
[[block]]
name = "counting"
inputs = ["input"]
layers = [ {type = "average_pool", kernel = 3, stride = 3, padding = 1, ceil_mode = true} ]
[[block]]
name = "head"
inputs = ["max", "average", "counting"]
layers = [ {type = "concat"}, {type = "flatten"}, {type = "linear", out = "classes"} ]
)";

inline const char* kTied = R"(
input = [3, 12, 12]
[[block]]
name = "stem"
layers = [ {type = "convolution", out = 8, kernel = 3, padding = 1}, {type = "batch_norm"}, {type = "relu"} ]
[[block]]
name = "large"
layers = [ {type = "convolution", out = 8, kernel = 3, padding = 1}, {type = "relu"}, {type = "max_pool", kernel = 2} ]
[[block]]
name = "small"
layers = [ {type = "convolution", out = 8, kernel = 3, padding = 1, weights = "large"}, {type = "batch_norm", weights = "stem.bn"}, {type = "relu"} ]
[[block]]
name = "up"
layers = [ {type = "transposed_convolution", out = 8, kernel = 3, weights = "large"}, {type = "global_average_pool"}, {type = "flatten"} ]
[[block]]
name = "fc1"
layers = [ {type = "linear", out = 8, bias = false}, {type = "tanh"} ]
[[block]]
name = "fc2"
weights = "fc1"
layers = [ {type = "linear", out = 8, bias = false}, {type = "tanh"} ]
[[block]]
name = "head"
layers = [ {type = "linear", out = "classes"} ]
)";

inline std::vector<Example> examples() {
  std::vector<Example> all;
  const auto zoo = [&](const std::string& name, const tensor::Shape& input) {
    all.push_back({name, graph::load_model(name, input, 10)});
  };
  zoo("lenet", {1, 28, 28});
  zoo("resnet20", {3, 16, 16});
  zoo("preresnet11", {3, 16, 16});
  zoo("resnet50", {3, 64, 64});
  zoo("vgg11", {3, 32, 32});
  zoo("radixnet:1024x2", {1, 28, 28});
  all.push_back({"mlp with all activations",
                 graph::parse_model(kActivations, "mlp.toml", {1, 6, 6}, 5), 5e-6F});
  all.push_back({"pools", graph::parse_model(kPools, "pools.toml", {}, 5), 5e-6F});
  all.push_back({"branches", graph::parse_model(kBranches, "branches.toml", {}, 5), 5e-6F});
  all.push_back({"operations", graph::parse_model(kOperations, "operations.toml", {}, 5), 5e-6F});
  all.push_back({"excitation", graph::parse_model(kExcitation, "excitation.toml", {}, 5), 5e-6F});
  all.push_back({"ceil_mode", graph::parse_model(kCeilMode, "ceil.toml", {}, 5), 5e-6F});
  all.push_back({"sequence", graph::parse_model(kSequence, "sequence.toml", {}, 5), 5e-6F});
  all.push_back({"tied", graph::parse_model(kTied, "tied.toml", {}, 5), 5e-6F});
  all.push_back({"chain of our own", graph::parse_model(kOwnChain, "own.toml", {}, 5), 5e-6F});
  return all;
}

/// With those that leave as other layers than they have.
inline std::vector<Example> outward_examples() {
  std::vector<Example> all = examples();
  all.push_back(
      {"ceil_mode of one axis", graph::parse_model(kCeilModeOfOneAxis, "ceil.toml", {}, 5), 5e-6F});
  return all;
}

}  // namespace plait::onnx
