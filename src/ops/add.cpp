// The shape of a sum.
#include "ops/add.hpp"

#include "base/error.hpp"
#include "ops/table.hpp"

namespace plait::ops {

tensor::Shape Add::result(std::span<const tensor::Shape> srcs, const std::string& where) const {
  if (!(srcs[0] == srcs[1])) {
    user_error("{}: add needs two inputs of equal shape but has {} and {}", where, srcs[0],
               srcs[1]);
  }
  return srcs[0];
}

std::vector<OperationInfo> Add::describe() {
  return {{.name = "add", .onnx = "Add", .torch = "add", .usual = Add{}}};
}

}  // namespace plait::ops
