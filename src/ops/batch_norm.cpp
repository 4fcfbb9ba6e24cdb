// Parameters and limits of a batch normalisation.
#include "ops/batch_norm.hpp"

#include "base/error.hpp"
#include "ops/table.hpp"

namespace plait::ops {

void BatchNorm::check(const std::string& where) const {
  if (!(epsilon > 0 && epsilon <= 1)) {
    user_error("{}: batch_norm epsilon {} is not in (0, 1]", where, epsilon);
  }
  if (!(momentum >= 0 && momentum <= 1)) {
    user_error("{}: batch_norm momentum {} is not in [0, 1]", where, momentum);
  }
}

tensor::Shape BatchNorm::result(std::span<const tensor::Shape> srcs, const std::string&) const {
  return srcs[0];
}

std::vector<ParameterSpec> BatchNorm::parameters(const tensor::Shape& src) const {
  const tensor::Shape channels{src[0]};
  if (!centered) {
    return {{.name = "weight", .shape = channels, .value = 1},
            {.name = "running_var", .shape = channels, .trainable = false, .value = 1}};
  }
  return {{.name = "weight", .shape = channels, .value = 1},
          {.name = "bias", .shape = channels},
          {.name = "running_mean", .shape = channels, .trainable = false},
          {.name = "running_var", .shape = channels, .trainable = false, .value = 1}};
}

std::vector<OperationInfo> BatchNorm::describe() {
  return {{.name = "batch_norm",
           .short_name = "bn",
           .onnx = "BatchNormalization",
           .torch = "BatchNorm2d",
           .usual = BatchNorm{},
           .fields = {
               field(&BatchNorm::epsilon, {.key = "epsilon", .most = 1, .onnx = "epsilon"}),
               field(&BatchNorm::momentum, {.key = "momentum", .most = 1}),
               field(&BatchNorm::centered, {.key = "centered"}),
           }}};
}

}  // namespace plait::ops
