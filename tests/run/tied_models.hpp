// Models with tied weights, as files.
#pragma once

#include <map>
#include <string>

namespace plait::run {

/// Four users of one matrix.
inline constexpr const char* kTiedLinears = R"(
[[block]]
name = "stem"
layers = [{type = "convolution", out = 4, kernel = 3, stride = 4}, {type = "relu"}, {type = "flatten"},
          {type = "linear", out = 20}, {type = "tanh"}]
[[block]]
name = "fc1"
layers = [{type = "linear", out = 20}, {type = "tanh"}]
[[block]]
name = "fc2"
weights = "fc1"
layers = [{type = "linear", out = 20}, {type = "tanh"}]
[[block]]
name = "fc3"
layers = [{type = "linear", out = 20, weights = "fc2"}, {type = "tanh"}]
[[block]]
name = "fc4"
layers = [{type = "linear", out = 20, weights = "fc1.linear"}, {type = "tanh"}]
[[block]]
name = "head"
layers = [{type = "linear", out = "classes"}]
)";

/// A stage in the middle that is long enough for replicas, with a user on it.
inline constexpr const char* kTiedUneven = R"(
[[block]]
name = "stem"
layers = [{type = "flatten"}, {type = "linear", out = 24}, {type = "tanh"}]
[[block]]
name = "fc1"
layers = [{type = "linear", out = 24}, {type = "tanh"}]
[[block]]
name = "middle"
layers = [{type = "linear", out = 512}, {type = "relu"}, {type = "linear", out = 512}, {type = "relu"},
          {type = "linear", out = 24}, {type = "tanh"}]
[[block]]
name = "fc2"
weights = "fc1"
layers = [{type = "linear", out = 24}, {type = "tanh"}]
[[block]]
name = "head"
layers = [{type = "linear", out = "classes"}]
)";

/// One kernel on images of three sizes. The transposed convolution lays it out in another way.
inline constexpr const char* kTiedConvolutions = R"(
[[block]]
name = "stem"
layers = [{type = "convolution", out = 8, kernel = 3, stride = 2, padding = 1}, {type = "relu"}]
[[block]]
name = "conv1"
layers = [{type = "convolution", out = 8, kernel = 3, padding = 1}, {type = "relu"}]
[[block]]
name = "down"
layers = [{type = "max_pool", kernel = 2}, {type = "convolution", out = 8, kernel = 1}, {type = "relu"}]
[[block]]
name = "conv2"
weights = "conv1"
layers = [{type = "convolution", out = 8, kernel = 3, padding = 1}, {type = "relu"}]
[[block]]
name = "up"
layers = [{type = "transposed_convolution", out = 8, kernel = 3, stride = 2, weights = "conv1"}, {type = "relu"}]
[[block]]
name = "fc"
layers = [{type = "global_average_pool"}, {type = "flatten"}, {type = "linear", out = "classes"}]
)";

/// Inside a residual block, normalisation too.
inline constexpr const char* kTiedResidual = R"(
[[block]]
name = "one"
layers = [
  {name = "conv0", type = "convolution", out = 8, kernel = 3, padding = 1},
  {name = "bn1", type = "batch_norm"}, {name = "relu1", type = "relu"},
  {name = "conv1", type = "convolution", out = 8, kernel = 3, padding = 1, bias = false},
  {name = "bn2", type = "batch_norm"}, {name = "relu2", type = "relu"},
  {name = "conv2", type = "convolution", out = 8, kernel = 3, padding = 1, bias = false, weights = "one.conv1"},
  {name = "add1", type = "add", from = ["conv2", "conv0"]},
  {name = "bn3", type = "batch_norm", weights = "one.bn1"}, {name = "relu3", type = "relu"},
  {name = "pool", type = "max_pool", kernel = 2},
  {name = "conv3", type = "convolution", out = 8, kernel = 3, padding = 1, weights = "one.conv1", bias = false},
  {name = "add2", type = "add", from = ["conv3", "pool"]}, {name = "relu5", type = "relu"},
]
[[block]]
name = "fc"
layers = [{type = "global_average_pool"}, {type = "flatten"}, {type = "linear", out = "classes"}]
)";

inline const std::map<std::string, const char*>& tied_models() {
  static const std::map<std::string, const char*> all{{"linears", kTiedLinears},
                                                      {"uneven", kTiedUneven},
                                                      {"convolutions", kTiedConvolutions},
                                                      {"residual", kTiedResidual}};
  return all;
}

}  // namespace plait::run
