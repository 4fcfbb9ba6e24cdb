// Models of which all but the end is one block, with skips inside: pipelines must cut them there.
#pragma once

#include <map>
#include <string>

namespace plait::run {

/// Two skips in one block of the model; the second one is a convolution.
inline constexpr const char* kResidual = R"(
[[block]]
name = "one"
layers = [
  {name = "conv0", type = "convolution", out = 8, kernel = 3, padding = 1},
  {name = "bn1", type = "batch_norm"}, {name = "relu1", type = "relu"},
  {name = "conv1", type = "convolution", out = 8, kernel = 3, padding = 1, bias = false},
  {name = "bn2", type = "batch_norm"}, {name = "relu2", type = "relu"},
  {name = "conv2", type = "convolution", out = 8, kernel = 3, padding = 1, bias = false},
  {name = "add1", type = "add", from = ["conv2", "conv0"]},
  {name = "bn3", type = "batch_norm"}, {name = "relu3", type = "relu"},
  {name = "conv3", type = "convolution", out = 16, kernel = 3, padding = 1, stride = 2},
  {name = "bn4", type = "batch_norm"}, {name = "relu4", type = "relu"},
  {name = "conv4", type = "convolution", out = 16, kernel = 3, padding = 1},
  {name = "short", type = "convolution", out = 16, kernel = 1, stride = 2, from = "relu3"},
  {name = "add2", type = "add", from = ["conv4", "short"]}, {name = "relu5", type = "relu"},
]
[[block]]
name = "fc"
layers = [{type = "global_average_pool"}, {type = "flatten"}, {type = "linear", out = "classes"}]
)";

/// Every layer reads all before it.
inline constexpr const char* kDense = R"(
[[block]]
name = "dense"
layers = [
  {name = "conv0", type = "convolution", out = 8, kernel = 3, padding = 1},
  {name = "bn1", type = "batch_norm"}, {name = "relu1", type = "relu"},
  {name = "conv1", type = "convolution", out = 8, kernel = 3, padding = 1},
  {name = "cat1", type = "concat", from = ["conv0", "conv1"]},
  {name = "bn2", type = "batch_norm"}, {name = "relu2", type = "relu"},
  {name = "conv2", type = "convolution", out = 8, kernel = 3, padding = 1},
  {name = "cat2", type = "concat", from = ["conv0", "conv1", "conv2"]},
  {name = "bn3", type = "batch_norm"}, {name = "relu3", type = "relu"},
  {name = "conv3", type = "convolution", out = 8, kernel = 1},
]
[[block]]
name = "fc"
layers = [{type = "global_average_pool"}, {type = "flatten"}, {type = "linear", out = "classes"}]
)";

/// An encoder and decoder in one block of the model.
inline constexpr const char* kUnet = R"(
[[block]]
name = "unet"
layers = [
  {name = "down1", type = "convolution", out = 8, kernel = 3, padding = 1}, {name = "relu1", type = "relu"},
  {name = "pool1", type = "max_pool", kernel = 2, stride = 2},
  {name = "down2", type = "convolution", out = 16, kernel = 3, padding = 1}, {name = "relu2", type = "relu"},
  {name = "pool2", type = "max_pool", kernel = 2, stride = 2},
  {name = "bottom", type = "convolution", out = 16, kernel = 3, padding = 1}, {name = "relu3", type = "relu"},
  {name = "up2", type = "upsample", scale = 2},
  {name = "cat2", type = "concat", from = ["up2", "relu2"]},
  {name = "conv2", type = "convolution", out = 8, kernel = 3, padding = 1}, {name = "relu4", type = "relu"},
  {name = "up1", type = "upsample", scale = 2},
  {name = "cat1", type = "concat", from = ["up1", "relu1"]},
  {name = "conv1", type = "convolution", out = 8, kernel = 3, padding = 1},
]
[[block]]
name = "fc"
layers = [{type = "global_average_pool"}, {type = "flatten"}, {type = "linear", out = "classes"}]
)";

inline const std::map<std::string, std::string> kInsideModels{
    {"dense", kDense}, {"residual", kResidual}, {"unet", kUnet}};

}  // namespace plait::run
