// The shape of a difference.
#include "ops/subtract.hpp"

#include "base/error.hpp"
#include "ops/table.hpp"

namespace plait::ops {

tensor::Shape Subtract::result(std::span<const tensor::Shape> srcs,
                               const std::string& where) const {
  if (!(srcs[0] == srcs[1])) {
    user_error("{}: subtract needs two inputs of equal shape but has {} and {}", where, srcs[0],
               srcs[1]);
  }
  return srcs[0];
}

std::vector<OperationInfo> Subtract::describe() {
  return {{.name = "subtract", .onnx = "Sub", .torch = "sub", .usual = Subtract{}}};
}

}  // namespace plait::ops
