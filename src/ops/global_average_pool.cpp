// The shape of a global average.
#include "ops/global_average_pool.hpp"

#include "ops/table.hpp"
#include "ops/window.hpp"

namespace plait::ops {

tensor::Shape GlobalAveragePool::result(std::span<const tensor::Shape> srcs,
                                        const std::string& where) const {
  require_image(srcs[0], "global_average_pool", where);
  return {srcs[0][0], 1, 1};
}

std::vector<OperationInfo> GlobalAveragePool::describe() {
  return {{.name = "global_average_pool",
           .short_name = "pool",
           .onnx = "GlobalAveragePool",
           .torch = "AdaptiveAvgPool2d(1)",
           .usual = GlobalAveragePool{}}};
}

}  // namespace plait::ops
