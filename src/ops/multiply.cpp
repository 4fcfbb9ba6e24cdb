// The shape of a product.
#include "ops/multiply.hpp"

#include "base/error.hpp"
#include "ops/table.hpp"

namespace plait::ops {

tensor::Shape Multiply::result(std::span<const tensor::Shape> srcs,
                               const std::string& where) const {
  const tensor::Shape& a = srcs[0];
  const tensor::Shape& b = srcs[1];
  const bool factors =
      a.rank() == 3 && (b == tensor::Shape{a[0], 1, 1} || b == tensor::Shape{a[0]});
  if (!(a == b) && !factors) {
    user_error(
        "{}: multiply needs inputs of equal shape, or CxHxW and Cx1x1 or C, but has {} and {}",
        where, a, b);
  }
  return a;
}

std::vector<OperationInfo> Multiply::describe() {
  return {{.name = "multiply", .onnx = "Mul", .torch = "mul", .usual = Multiply{}}};
}

}  // namespace plait::ops
