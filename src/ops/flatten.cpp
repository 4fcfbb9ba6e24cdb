// The shape of flat features.
#include "ops/flatten.hpp"

#include "ops/table.hpp"

namespace plait::ops {

tensor::Shape Flatten::result(std::span<const tensor::Shape> srcs, const std::string&) const {
  return {srcs[0].elements()};
}

std::vector<OperationInfo> Flatten::describe() {
  return {{.name = "flatten",
           .onnx = "Flatten",
           .onnx_constants = {{"axis", 1}},
           .torch = "Flatten",
           .usual = Flatten{}}};
}

}  // namespace plait::ops
