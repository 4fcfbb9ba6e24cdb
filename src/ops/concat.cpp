// The shape of tensors put together.
#include "ops/concat.hpp"

#include "base/error.hpp"
#include "ops/table.hpp"

namespace plait::ops {

tensor::Shape Concat::result(std::span<const tensor::Shape> srcs, const std::string& where) const {
  std::vector<std::int64_t> dims(srcs[0].dims().begin(), srcs[0].dims().end());
  for (const tensor::Shape& src : srcs.subspan(1)) {
    if (src.rank() != srcs[0].rank() || !(src.without_front() == srcs[0].without_front())) {
      user_error("{}: concat needs inputs that differ in channels only but has {} and {}", where,
                 srcs[0], src);
    }
    dims[0] += src[0];
  }
  return tensor::Shape(std::move(dims));
}

std::vector<OperationInfo> Concat::describe() {
  return {{.name = "concat",
           .onnx = "Concat",
           .onnx_constants = {{"axis", 1}},
           .torch = "cat",
           .usual = Concat{}}};
}

}  // namespace plait::ops
