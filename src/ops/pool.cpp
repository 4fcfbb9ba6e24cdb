// Shapes and limits of pooling.
#include "ops/pool.hpp"

#include "base/error.hpp"
#include "ops/table.hpp"
#include "ops/window.hpp"

namespace plait::ops {

std::string Pool::text() const { return fmt::format("{} {}", name(), text_of(kernel)); }

void Pool::check(const std::string& where) const {
  check_window(kernel, "kernel", where);
  check_window(stride, "stride", where);
  check_window(padding, "padding", where);
}

tensor::Shape Pool::result(std::span<const tensor::Shape> srcs, const std::string& where) const {
  const tensor::Shape& src = srcs[0];
  require_image(src, "pooling", where);
  if (kernel.height < 1 || kernel.width < 1 || stride.height < 1 || stride.width < 1 ||
      padding.height < 0 || padding.width < 0 || 2 * padding.height > kernel.height ||
      2 * padding.width > kernel.width) {
    user_error(
        "{}: pooling needs a positive kernel and stride, and padding of at most half a kernel",
        where);
  }
  if (src[1] + 2 * padding.height < kernel.height || src[2] + 2 * padding.width < kernel.width) {
    user_error("{}: a pooling window of {}x{} does not fit its input {}", where, kernel.height,
               kernel.width, src);
  }
  const auto windows = ceil_mode ? window_count_ceil : window_count;
  return {src[0], windows(src[1], kernel.height, stride.height, padding.height),
          windows(src[2], kernel.width, stride.width, padding.width)};
}

std::vector<OperationInfo> Pool::describe() {
  std::vector<Field> fields{
      field(&Pool::kernel, {.key = "kernel",
                            .least = 1,
                            .most = kMaxWindow,
                            .onnx = "kernel_shape",
                            .always = true}),
      field(&Pool::stride,
            {.key = "stride", .least = 1, .most = kMaxWindow, .onnx = "strides", .like = "kernel"}),
      field(&Pool::padding, {.key = "padding", .most = kMaxWindow, .onnx = "pads"}),
      field(&Pool::ceil_mode, {.key = "ceil_mode", .onnx = "ceil_mode"}),
  };
  OperationInfo max{.name = "max_pool",
                    .short_name = "pool",
                    .onnx = "MaxPool",
                    .torch = "MaxPool2d",
                    .usual = Pool{},
                    .fields = fields};
  fields.push_back(
      field(&Pool::count_include_pad, {.key = "count_include_pad", .onnx = "count_include_pad"}));
  OperationInfo average{.name = "average_pool",
                        .short_name = "pool",
                        .onnx = "AveragePool",
                        .torch = "AvgPool2d",
                        .usual = Pool{.kind = PoolKind::average},
                        .fields = std::move(fields)};
  return {std::move(max), std::move(average)};
}

}  // namespace plait::ops
