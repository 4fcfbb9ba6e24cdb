// The shape of an adaptive average.
#include "ops/adaptive_average_pool.hpp"

#include "base/error.hpp"
#include "ops/table.hpp"
#include "ops/window.hpp"

namespace plait::ops {

std::string AdaptiveAveragePool::text() const {
  return fmt::format("{} {}", name(), text_of(output));
}

void AdaptiveAveragePool::check(const std::string& where) const {
  check_window(output, "output", where);
}

tensor::Shape AdaptiveAveragePool::result(std::span<const tensor::Shape> srcs,
                                          const std::string& where) const {
  require_image(srcs[0], name(), where);
  if (output.height < 1 || output.width < 1) {
    user_error("{}: {} needs a positive output", where, name());
  }
  return {srcs[0][0], output.height, output.width};
}

std::optional<Pool> AdaptiveAveragePool::even_windows(const tensor::Shape& src) const {
  if (src[1] % output.height != 0 || src[2] % output.width != 0) return std::nullopt;
  const Extent2 window{src[1] / output.height, src[2] / output.width};
  return Pool{.kind = PoolKind::average, .kernel = window, .stride = window};
}

std::vector<OperationInfo> AdaptiveAveragePool::describe() {
  return {
      {.name = "adaptive_average_pool",
       .short_name = "pool",
       .torch = "AdaptiveAvgPool2d",
       .usual = AdaptiveAveragePool{},
       .fields = {field(
           &AdaptiveAveragePool::output,
           {.key = "output", .least = 1, .most = kMaxWindow, .required = true, .always = true})}}};
}

}  // namespace plait::ops
